import assert from 'node:assert/strict'
import { jsonBody } from '../lib/payloads.mjs'
import { signedHeaders } from './request.mjs'

/**
 * A server that takes what is not signed, or that has not handed on what is, is not worth measuring.
 *
 * @param {import('./subjects.mjs').Subject} subject
 * @param {{ ready: number, ask(question: unknown): Promise<{ handled: number }> }} server
 * @param {number} size of the body
 * @throws {Error} where it answers wrongly
 */
export async function check(subject, server, size) {
  const body = jsonBody(size)
  const signed = signedHeaders(body)
  const unsigned = { ...signed }
  for (const name of ['x-service', 'x-hub-signature-256', 'stripe-signature']) delete unsigned[name]
  const changed = Buffer.from(body.toString().replace('Parcels', 'Parcelt'))

  const { handled } = await server.ask('state')
  const expect = async (what, status, headers, bytes) => {
    const answer = await fetch(`http://127.0.0.1:${server.ready}/hook`, {
      method: 'POST',
      headers,
      body: bytes,
    })
    await answer.arrayBuffer()
    assert.match(
      String(answer.status),
      status,
      `${subject.name} answers ${answer.status}: ${what}, ${size} B`,
    )
  }
  await expect('well signed', /^200$/, signed, body)
  await expect('signed for another body', /^4\d\d$/, signedHeaders(changed), body)
  await expect('body changed', /^4\d\d$/, signed, changed)
  await expect('not signed', /^4\d\d$/, unsigned, body)
  const { handled: after } = await server.ask('state')
  assert.equal(after - handled, 1, `${subject.name}: ${after - handled} of one good event are handled`)
}
