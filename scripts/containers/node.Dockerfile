# Stands in for the official image of Node: the same Debian, user and paths.
FROM base
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
COPY node_modules/node/bin/node /usr/local/bin/node
COPY node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
  && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
# The machine may reach its registry through a proxy with a certificate of its own.
COPY certificates.pem npmrc /usr/local/etc/
ENV NODE_EXTRA_CA_CERTS=/usr/local/etc/certificates.pem
CMD ["node"]
