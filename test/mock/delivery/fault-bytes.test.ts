import { gunzipSync } from 'node:zlib'
import type { FaultName } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { CREATED, createAt, named, receive } from './support.ts'

describe('bytes of a faulty delivery', () => {
  const sentWith = async (fault: FaultName, options: object = {}) => {
    const { url, requests } = await receive()
    const { service } = createAt(named(url, { a: {} }), options)
    service.faults.add({ fault, times: 1 })
    const [attempt] = await service.trigger(CREATED)
    expect(Buffer.from(attempt!.request.body).equals(requests[0]!.body), 'as recorded').toBe(true)
    return requests[0]!
  }

  it('altered: one bit differs', async () => {
    const { headers, body } = await sentWith('altered')
    const differing = [...body].flatMap((_, index) => {
      const repaired = Buffer.from(body)
      repaired[index]! ^= 1
      return signatureOf(repaired) === headers['x-service'] ? [index] : []
    })
    expect(differing).toHaveLength(1)
  })

  it('truncated: a complete request with half of the body', async () => {
    const { headers, body } = await sentWith('truncated')
    const whole = await sentWith('duplicate')
    expect(headers['content-length']).toBe(String(body.length))
    expect(body.length).toBe(whole.body.length >> 1)
    expect(headers['x-service']).toBe(signatureOf(whole.body))
  })

  it('wrong_key: signed, but with another key', async () => {
    const { headers, body } = await sentWith('wrong_key')
    expect(headers['x-service']).toMatch(/^[0-9a-f]{64}$/)
    expect(headers['x-service']).not.toBe(signatureOf(body))
  })

  it('wrong_key: the organization dialect sends another secret, and no signature', async () => {
    const { headers } = await sentWith('wrong_key', { like: { dialect: 'organization' } })
    expect(headers.secret).toMatch(/./)
    expect(headers.secret).not.toBe(KEY)
    expect(headers).not.toHaveProperty('x-service')
  })

  it('unsigned: the organization dialect sends no secret', async () => {
    expect((await sentWith('unsigned', { like: { dialect: 'organization' } })).headers).not.toHaveProperty(
      'secret',
    )
  })

  it('gzip: the signed body, compressed', async () => {
    const { headers, body } = await sentWith('gzip')
    expect(signatureOf(gunzipSync(body))).toBe(headers['x-service'])
    expect(headers['content-encoding']).toBe('gzip')
  })
})
