import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { exchange } from './exchange.mjs'
import worker, { received } from './out/worker.js'

const { imports, inputs } = JSON.parse(readFileSync('out/meta.json', 'utf8')).outputs['out/worker.js']
assert.deepEqual(imports, [], 'everything is bundled')
assert.ok(Object.keys(inputs).some((input) => input.includes('geohook/dist/runtime.web.')))
assert.deepEqual(
  Object.keys(inputs).filter(
    (input) =>
      !/^(worker\.js|node_modules\/geohook\/dist\/(index|(chunk|join-events)-\w+|runtime\.web)\.js)$/.test(
        input,
      ),
  ),
  [],
  'only the receiver is bundled',
)
await exchange(received, (request) => worker.fetch(request))
