#!/bin/sh
# As in the official image: root gives its folder to redis and becomes it, and only redis reads what is written.
set -e
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  find . ! -user redis -exec chown redis {} +
  exec gosu redis "$0" "$@"
fi
umask 0077
exec "$@"
