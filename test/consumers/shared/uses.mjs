import assert from 'node:assert/strict'
import { exchange } from './exchange.mjs'

/** Tests the main functions of the package. `entries` contains the loaded entries by name, from ESM or CommonJS. */
export async function uses(entries) {
  const { 'geohook/testing': testing, 'geohook/mock': mock, geohook } = entries
  const body = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated"}]}'
  const signature = await geohook.sign({ body, signatureKey: 'k' })
  assert.deepEqual(await geohook.verify({ body, signature, signatureKey: 'k' }), { ok: true, keyIndex: 0 })
  const headers = { 'x-service': signature }
  const diagnosis = await geohook.explain({ body: `${body}\n`, headers }, { signatureKey: 'k' })
  assert.equal(diagnosis.cause, 'body_trailing_newline')

  const received = []
  const receiver = geohook
    .createReceiver({ signatureKey: 'parcels2026' })
    .on('*', (event) => received.push(event.changeType))
  await exchange(received, receiver.fetch)

  const signer = testing.createSigner({ signatureKey: 'parcels2026' })
  const request = await signer.sign(testing.createPayload('FeaturesDeleted'))
  assert.equal((await receiver.fetch(new Request('http://a.example', request))).status, 200)
  assert.equal(received.at(-1), 'FeaturesDeleted')
  assert.equal(typeof mock.createMockService().listen, 'function')

  const isOurs = (error) => error instanceof geohook.WebhookError && error.code === 'config_invalid'
  assert.throws(
    () => testing.createSigner({ signatureKey: '' }),
    isOurs,
    'geohook/testing throws the same WebhookError as geohook',
  )
  assert.throws(
    () => entries['geohook/express'].webhook({ signatureKey: '' }),
    isOurs,
    'and so does geohook/express',
  )
  for (const [name, { webhook }] of Object.entries(entries)) {
    try {
      webhook?.({ signatureKey: '' })
    } catch (error) {
      assert.ok(isOurs(error), `${name} throws the same WebhookError as geohook`)
    }
  }
}
