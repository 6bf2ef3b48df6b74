import assert from 'node:assert/strict'
import { exchange } from './exchange.mjs'
import { handle, received, sign } from './out/receiver.js'

await exchange(received, handle)
assert.equal((await handle(new Request('http://receiver.example/hook', await sign()))).status, 200)
assert.equal(received.at(-1), 'FeaturesUpdated')
