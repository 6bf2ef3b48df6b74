import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { entries } from './entries.mjs'
import { exchangeWith } from './exchange.mjs'

const require = createRequire(import.meta.url)
for (const { received, start, isOurs, keyless } of [
  await import('./out/receiver.mjs'),
  require('./out/receiver.cjs'),
]) {
  await exchangeWith(start(), received)
  assert.throws(keyless, isOurs)
}
for (const { all } of [await import('./out/all.mjs'), require('./out/all.cjs')])
  assert.equal(all.length, entries.length)
