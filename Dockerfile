# The program from `npm pack`, with its dependencies. docs/deploy.md has the commands.

# The same Node version that `npm ci` installs and the tests use.
FROM node:24.21.0-bookworm-slim AS packed
WORKDIR /source
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY console/package.json console/package-lock.json console/.npmrc console/
RUN npm ci --prefix console --ignore-scripts
COPY . .
RUN npm pack --pack-destination /packed \
  && tar -xzf /packed/company-ledger-*.tgz -C /packed

FROM node:24.21.0-bookworm-slim AS installed
WORKDIR /opt/company-ledger
COPY package.json package-lock.json .npmrc ./
# The image already has Node and the bundle.
RUN npm ci --omit=dev --ignore-scripts \
  && rm -rf node_modules/node-linux-* node_modules/esbuild node_modules/@esbuild package-lock.json
COPY --from=packed /packed/package/ ./

FROM node:24.21.0-bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends git \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 10001 ledger \
  && useradd --uid 10001 --gid ledger --home-dir /var/lib/company-ledger --create-home ledger \
  && install --directory --owner=ledger --group=ledger --mode=0700 /var/lib/code /var/lib/previews \
  && ln -s /opt/company-ledger/bin/company-ledger.mjs /usr/local/bin/company-ledger
COPY --from=installed /opt/company-ledger /opt/company-ledger
COPY deploy/docker/make-passwords.mjs deploy/docker/look.mjs /usr/local/share/company-ledger/
ENV NODE_ENV=production \
  HOST=0.0.0.0 \
  PORT=3000 \
  LEDGER_DATA_DIR=/var/lib/company-ledger
USER ledger
WORKDIR /var/lib/company-ledger
VOLUME ["/var/lib/company-ledger", "/var/lib/code", "/var/lib/previews"]
EXPOSE 3000
STOPSIGNAL SIGTERM
# A start that rebuilds read models counts as healthy for an hour.
HEALTHCHECK --interval=10s --timeout=5s --start-period=1h --retries=3 \
  CMD ["node", "/usr/local/share/company-ledger/look.mjs", "/readyz"]
ENTRYPOINT ["company-ledger"]
CMD ["start"]
