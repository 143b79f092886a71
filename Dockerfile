FROM node:24-bookworm-slim AS build
WORKDIR /svc
COPY . .
RUN npm ci --ignore-scripts --no-audit --no-fund
RUN npm run build
RUN npm ci --ignore-scripts --no-audit --no-fund --omit=dev
RUN rm -rf test packages/*/src packages/*/test plugins/*/src plugins/*/test apps/*/src apps/*/test simulator/src simulator/test

FROM node:24-bookworm-slim
WORKDIR /svc
COPY --from=build /svc .
RUN install -d -o node -g node /data
USER node
ENV NODE_ENV=production
ENV SVC_HOST=0.0.0.0
ENV SVC_DATA_DIR=/data
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "-e", "fetch('http://127.0.0.1:8787/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=32", "apps/server/dist/main.js", "serve"]
