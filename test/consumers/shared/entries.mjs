import { readFileSync } from 'node:fs'

const { exports } = JSON.parse(
  readFileSync(new URL('node_modules/geohook/package.json', import.meta.url), 'utf8'),
)

/** What the installed package lets users import. */
export const entries = Object.keys(exports)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace('.', 'geohook'))

/** The entries that need an optional peer to run. All others are only typed by theirs. */
export const peers = { 'geohook/otel': '@opentelemetry/api' }
