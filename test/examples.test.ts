import { createPayload, createSigner } from 'geohook/testing'
import { expect, it } from 'vitest'
import { startNode } from './helpers/process.ts'

it('examples/express runs as a user would run it, handles a signed delivery and refuses a forged one', async () => {
  const env = { SIGNATURE_KEY: 'parcels2026', PORT: '0' }
  const app = startNode(['examples/express/server.js'], env)
  try {
    const [, url = ''] = await app.printed(/listening on (http:\S+)/)
    const signer = createSigner({ signatureKey: 'parcels2026', encoding: 'base64', prefix: 'sha256=' })
    const request = await signer.sign(createPayload('FeaturesCreated', { serviceName: 'Parcels' }))
    expect((await fetch(url, request)).status).toBe(200)
    await app.printed(/created on Parcels\nedited: https:\S+\ndelivery [0-9a-f]{32}: FeaturesCreated\n/)
    expect((await fetch(url, { ...request, body: '{"forged":true}' })).status).toBe(401)
    await app.printed(/refused: signature_mismatch/)
    expect(await (await fetch(new URL('/health', url))).json()).toEqual({ ok: true })
    expect(app.output).not.toContain('parcels2026')
    expect(await app.stop()).toBe(0)
  } finally {
    await app.stop()
  }
})

it('examples/express does not start without a key', async () => {
  const app = startNode(['examples/express/server.js'], { SIGNATURE_KEY: '', PORT: '0' })
  expect(await app.exited).toBe(1)
  expect(app.output).toContain('config_invalid')
})
