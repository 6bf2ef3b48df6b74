import { expect, it } from 'vitest'
import { parseCapture, toCaptureJson } from '../../../src/cli/io/captures.ts'

it('reads a status of -0 as the 0 that it is written as', () => {
  const text = `{"geohook":"capture","version":1,"receivedAt":"2026-01-01T00:00:00.000Z","method":"POST","url":"/",
    "headers":[],"body":"","outcome":{"status":-0}}`
  const capture = parseCapture(JSON.parse(text), 'a.json')
  expect(parseCapture(JSON.parse(JSON.stringify(toCaptureJson(capture))), 'a.json')).toEqual(capture)
})
