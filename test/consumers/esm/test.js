import assert from 'node:assert/strict'
import { entries, peers } from './entries.mjs'
import { exchangeWith } from './exchange.mjs'
import { received, startExpress, startNode } from './receivers.js'
import { uses } from './uses.mjs'

const loaded = {}
for (const entry of entries) {
  if (peers[entry]) {
    const isPlain = ({ code, message }) =>
      code === 'ERR_MODULE_NOT_FOUND' && message.startsWith(`Cannot find package '${peers[entry]}'`)
    await assert.rejects(import(entry), isPlain, `${entry} names the missing package`)
  } else {
    loaded[entry] = await import(entry)
  }
}
await uses(loaded)
await exchangeWith(startNode(), received)
await exchangeWith(startExpress(), received)
