import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { exchangeWith } from './exchange.mjs'

const { outputs } = JSON.parse(readFileSync('out/meta.json', 'utf8'))
const inputs = Object.keys(outputs['out/receiver.cjs'].inputs)
assert.ok(
  inputs.some((input) => /geohook\/dist\/runtime\.node\./.test(input)),
  `runtime.node is bundled: ${inputs}`,
)
// The bundle must not contain code that the receiver does not use.
for (const name of ['diagnose', 'mock', 'testing', 'cli', 'runtime.web']) {
  assert.ok(
    !inputs.some((input) => input.includes(`geohook/dist/${name}`)),
    `${name} is not bundled: ${inputs}`,
  )
}
assert.ok(
  !readFileSync('out/receiver.cjs', 'utf8').includes('body_trailing_newline'),
  'explain is not bundled',
)

// The bundle must work without `node_modules`.
rmSync('node_modules', { recursive: true })
const { received, start } = createRequire(import.meta.url)('./out/receiver.cjs')
await exchangeWith(start(), received)
