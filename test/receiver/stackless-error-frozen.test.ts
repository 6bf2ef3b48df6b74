import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('refuses requests in a program that has frozen Error', async () => {
  const program = `
    import { createReceiver } from 'geohook'
    const observer = { refused: ({ error }) => console.log(error.code) }
    const { fetch } = createReceiver({ signatureKey: 'k', observer })
    const answer = await fetch(new Request('http://receiver.example/', { method: 'POST', body: '{}' }))
    console.log(answer.status)`
  const flags = ['--frozen-intrinsics', '--no-warnings', '--input-type=module', '--eval']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program])
  expect(stdout).toBe('signature_missing\n401\n')
})
