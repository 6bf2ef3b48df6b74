// Tests each installed entry that exports `webhook()` in its real framework, from ESM and from CommonJS.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { entries } from './entries.mjs'
import { exchange, exchangeWith } from './exchange.mjs'
import { frameworks } from './frameworks.js'

const require = createRequire(import.meta.url)

for (const load of [(entry) => import(entry), (entry) => require(entry)]) {
  const { createReceiver } = await load('geohook')
  for (const entry of entries) {
    const { webhook } = await load(entry)
    if (!webhook) continue
    assert.ok(frameworks[entry], `${entry} exports webhook(): add its framework to frameworks.js`)
    const received = []
    const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', (event) => {
      received.push(event.changeType)
    })
    const mounted = await frameworks[entry](webhook(receiver))
    if (typeof mounted === 'function') await exchange(received, mounted)
    else await exchangeWith(mounted.listen(0, '127.0.0.1'), received)
  }
}
