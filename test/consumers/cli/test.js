import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const geohook = (...args) => execFileSync('node_modules/.bin/geohook', args, { encoding: 'utf8' })
const { version } = JSON.parse(readFileSync('node_modules/geohook/package.json', 'utf8'))

assert.equal(geohook('--version').trim(), version)
assert.match(geohook('key'), /^[0-9a-f]{64}\n$/)
