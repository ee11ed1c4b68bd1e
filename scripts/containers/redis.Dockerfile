# Stands in for the official image of Redis: the same user, folder and way to start, with Debian's package.
FROM base
RUN userdel redis && groupadd --system --gid 999 redis && useradd --system --uid 999 --gid redis redis \
  && install -d -o redis -g redis /data
VOLUME /data
WORKDIR /data
COPY --chmod=0755 redis-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["redis-server"]
