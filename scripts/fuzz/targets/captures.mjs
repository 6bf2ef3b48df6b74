// A saved capture is either refused with a CliError that names the file and the invalid member (exit code 2), or it
// survives a round trip: the JSON that geohook writes for it is read as the same capture. The redacted headers contain
// neither a known key nor the value of a header `secret`, and Node accepts all headers.
//
// An input is the text of the file; if it is not JSON, geohook refuses it before it reads the capture.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { CliError } from '../../../src/cli/errors.ts'
import { parseCapture, toCaptureJson } from '../../../src/cli/io/captures.ts'
import { createRedactor } from '../../../src/shared/redact.ts'
import { KEY, require } from './support.mjs'

const FILE = 'captures/a.json'
const MEMBERS = ['geohook', 'version', 'receivedAt', 'method', 'url', 'headers', 'body', 'outcome']

export const words = [KEY, '"2026-01-01T00:00:00.000Z"', '["secret","a"]', '["x-service",""]', 'e30=']
export const seeds = [
  '{"geohook":"capture","version":1,"receivedAt":"2026-01-01T00:00:00.000Z","method":"POST","url":"/hook?a=b","headers":[["content-type","application/json"],["secret","a"],["x-service","parcels2026"]],"body":"eyJldmVudHMiOltdfQ==","outcome":{"status":401,"code":"signature_missing"}}',
  '{"geohook":"capture","version":1,"receivedAt":"2026-01-01","method":"GET","url":"/","headers":[],"body":"","outcome":{"status":200}}',
]

export function run(input) {
  let value
  try {
    value = JSON.parse(input.toString('utf8'))
  } catch {
    return
  }
  let capture
  try {
    capture = parseCapture(value, FILE)
  } catch (error) {
    if (!(error instanceof CliError && error.exitCode === 2)) throw error
    const member = /^captures\/a\.json is not a capture: (\w+) must be /.exec(error.message)?.[1]
    return require(MEMBERS.includes(member), 'the message names no member', error.message)
  }
  requireRoundTrip(capture)
  for (const [name, text] of capture.headers) {
    validateHeaderName(name)
    validateHeaderValue(name, text)
  }
  const redacted = createRedactor([KEY]).headers(capture.headers)
  require(redacted.length === capture.headers.length, 'a header is missing')
  for (const [name, text] of redacted) {
    require(!text.includes(KEY), 'a key is not redacted', name)
    require(name.toLowerCase() !== 'secret' || text === '***', 'a secret is not redacted', name)
  }
}

function requireRoundTrip(capture) {
  const again = parseCapture(JSON.parse(JSON.stringify(toCaptureJson(capture))), FILE)
  require(isDeepStrictEqual(again, capture), 'the capture changed', capture, again)
  require(!Number.isNaN(new Date(capture.receivedAt).getTime()), 'receivedAt', capture.receivedAt)
}
