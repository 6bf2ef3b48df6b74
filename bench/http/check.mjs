import assert from 'node:assert/strict'
import { jsonBody } from '../lib/payloads.mjs'
import { signedHeaders } from './request.mjs'

/**
 * Checks that a server rejects unsigned requests and handles signed ones.
 *
 * @param {import('./subjects.mjs').Subject} subject
 * @param {{ ready: number, ask(question: unknown): Promise<{ handled: number }> }} server
 * @param {number} size of the body
 * @throws {Error} if the check fails
 */
export async function check(subject, server, size) {
  const body = jsonBody(size)
  const signed = signedHeaders(body)
  const unsigned = { ...signed }
  for (const name of ['x-service', 'x-hub-signature-256', 'stripe-signature']) delete unsigned[name]
  const changed = Buffer.from(body.toString().replace('Parcels', 'Parcelt'))

  const { handled } = await server.ask('state')
  const expect = async (description, status, headers, bytes) => {
    const response = await fetch(`http://127.0.0.1:${server.ready}/hook`, {
      method: 'POST',
      headers,
      body: bytes,
    })
    await response.arrayBuffer()
    assert.match(
      String(response.status),
      status,
      `${subject.name} returns ${response.status}: ${description}, ${size} B`,
    )
  }
  await expect('valid signature', /^200$/, signed, body)
  await expect('signature of another body', /^4\d\d$/, signedHeaders(changed), body)
  await expect('changed body', /^4\d\d$/, signed, changed)
  await expect('no signature', /^4\d\d$/, unsigned, body)
  const { handled: after } = await server.ask('state')
  assert.equal(after - handled, 1, `${subject.name}: ${after - handled} events handled instead of one`)
}
