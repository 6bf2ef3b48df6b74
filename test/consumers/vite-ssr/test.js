import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { exchangeWith } from './exchange.mjs'

const importsGeohook = (mode) =>
  readdirSync(`out/${mode}`, { recursive: true })
    .filter((file) => file.endsWith('.js'))
    .some((file) => /from ["']geohook/.test(readFileSync(`out/${mode}/${file}`, 'utf8')))

assert.ok(importsGeohook('installed'))
const installed = await import('./out/installed/receiver.js')
await exchangeWith(installed.start(), installed.received)

assert.ok(!importsGeohook('bundled'))
rmSync('node_modules', { recursive: true })
const bundled = await import('./out/bundled/receiver.js')
await exchangeWith(bundled.start(), bundled.received)
