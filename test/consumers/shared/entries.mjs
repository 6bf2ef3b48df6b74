import { readFileSync } from 'node:fs'

const { exports } = JSON.parse(
  readFileSync(new URL('node_modules/geohook/package.json', import.meta.url), 'utf8'),
)

/** Import specifiers of all entries of the installed package. */
export const entries = Object.keys(exports)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace('.', 'geohook'))

/** Entries that import an optional peer dependency at runtime. Other entries import only types from their peers. */
export const peers = { 'geohook/otel': '@opentelemetry/api' }
