import { parsePayload, verify } from 'geohook'
import type { MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, KEY } from '../../helpers/deliver.ts'
import { type Capture, type Captured, capture, FEATURE, pathOf, post, same, seed, start } from '../support.ts'

const create = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }

/** Edits the webhook, triggers an event, and returns the request that it sends. */
async function nextDelivery(
  service: MockService,
  { url, requests }: Capture,
  parameters: Record<string, string>,
): Promise<Captured | undefined> {
  const edited = await post(service, `${pathOf(FEATURE)}/edit`, {
    ...same(FEATURE),
    hookUrl: url,
    ...parameters,
  })
  expect(edited.status).toBe(200)
  await service.trigger(create)
  return requests.pop()
}

const signatureOf = (request?: Captured): string => String(request?.headers['x-service'])

describe('an edit applies to the next delivery', () => {
  it('a new payload URL: the old URL gets no more deliveries', async () => {
    const [before, after] = [await capture(), await capture()]
    const service = await start([seed(FEATURE, { hookUrl: before.url })])
    await service.trigger(create)
    expect(await nextDelivery(service, after, {})).toMatchObject({ method: 'POST', url: '/hook' })
    expect([before.requests.length, after.requests.length]).toEqual([1, 0])
  })

  it('a new key: the old key does not verify the delivery', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE)])
    const request = await nextDelivery(service, receiver, { signatureKey: 'parcels2027' })
    const body = request?.body as Buffer
    const signature = signatureOf(request)
    expect(await verify({ body, signature, signatureKey: 'parcels2027' })).toEqual({ ok: true, keyIndex: 0 })
    expect(await verify({ body, signature, signatureKey: KEY })).toEqual({
      ok: false,
      code: 'signature_mismatch',
    })
  })

  it('no new key: the old key is kept', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE)])
    const request = await nextDelivery(service, receiver, { signatureKey: '' })
    const body = request?.body as Buffer
    expect((await verify({ body, signature: signatureOf(request), signatureKey: KEY })).ok).toBe(true)
  })

  it('new change types: only matching events are sent', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE)])
    expect(await nextDelivery(service, receiver, { changeTypes: 'FeaturesDeleted' })).toBeUndefined()
    expect(await service.trigger({ ...create, changeType: 'FeaturesDeleted' })).toHaveLength(1)
    expect(receiver.requests).toHaveLength(1)
  })

  it('active=false: nothing is sent, until active=true', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE)])
    expect(await nextDelivery(service, receiver, { active: 'false' })).toBeUndefined()
    expect(await nextDelivery(service, receiver, {})).toBeUndefined()
    expect(await nextDelivery(service, receiver, { active: 'true' })).toBeDefined()
  })

  it('a form as contentType: the same payload in the form field payload', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE)])
    const request = await nextDelivery(service, receiver, { contentType: FORM_TYPE })
    expect(request?.headers['content-type']).toBe(FORM_TYPE)
    const fields = new URLSearchParams(String(request?.body))
    expect([...fields.keys()]).toEqual(['payload'])
    const parsed = parsePayload({ body: request?.body as Buffer, contentType: FORM_TYPE })
    expect(parsed).toMatchObject({ ok: true, changeTypes: ['FeaturesCreated'] })
  })

  it('payloadFormat pjson: the same payload, indented', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE)])
    const text = String((await nextDelivery(service, receiver, { payloadFormat: 'pjson' }))?.body)
    expect(text).toBe(JSON.stringify(JSON.parse(text), null, 2))
    const compact = String((await nextDelivery(service, receiver, { payloadFormat: 'json' }))?.body)
    expect(compact).toBe(JSON.stringify(JSON.parse(compact)))
  })

  it('a new name: the payload contains it', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE)])
    const request = await nextDelivery(service, receiver, { name: '__proto__' })
    expect(JSON.parse(String(request?.body)).name).toBe('__proto__')
  })
})
