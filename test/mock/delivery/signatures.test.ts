import { createHmac } from 'node:crypto'
import { createReceiver, parsePayload, verify } from 'geohook'
import { type Attempt, createManualClock, type SignatureOptions } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../../helpers/deliver.ts'
import { type Captured, capture, FEATURE, JOB, seed, start } from '../support.ts'

const NOW = 1730385704000
const create = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }

interface Sent {
  request: Captured
  attempt: Attempt
}

/** Triggers one event, and returns the request and its attempt. */
async function deliver(signature: SignatureOptions, changes: Parameters<typeof seed>[1] = {}): Promise<Sent> {
  const receiver = await capture()
  const service = await start([seed(FEATURE, { hookUrl: receiver.url, ...changes })], {
    like: { signature },
    clock: createManualClock(NOW),
  })
  const [attempt] = await service.trigger(create)
  return { request: receiver.requests[0] as Captured, attempt: attempt as Attempt }
}

/** Extracts the signed bytes and the signature from a request, without using code of the package. */
function takeApart({ headers, body }: Captured, { signatureHeader = 'x-service' }: SignatureOptions) {
  const header = headers[signatureHeader.toLowerCase()]
  if (typeof header === 'string') return { signed: body, signature: header }
  const [, signed = '', field = ''] =
    new RegExp(`^payload=([^&]*)&${signatureHeader}=([^&]*)$`).exec(body.toString('latin1')) ?? []
  return { signed: Buffer.from(signed, 'latin1'), signature: decodeURIComponent(field) }
}

describe('a signed delivery verifies', () => {
  const combinations = [JSON_TYPE, FORM_TYPE].flatMap((contentType) =>
    (['json', 'pjson'] as const).flatMap((payloadFormat) =>
      (['header', 'field'] as const).flatMap((signatureIn) =>
        (['hex', 'base64'] as const).flatMap((encoding) =>
          ['', 'sha256='].map((prefix) => ({ contentType, payloadFormat, signatureIn, encoding, prefix })),
        ),
      ),
    ),
  )

  it.each(combinations)(
    '$contentType $payloadFormat, in the $signatureIn, $encoding, prefix "$prefix"',
    async ({ contentType, payloadFormat, ...signature }) => {
      const { request, attempt } = await deliver(signature, {
        contentType: contentType as typeof FORM_TYPE & typeof JSON_TYPE,
        payloadFormat,
      })
      expect(request.headers).toMatchObject({
        'content-type': contentType,
        'content-length': String(request.body.length),
      })
      const inField = signature.signatureIn === 'field' && contentType === FORM_TYPE
      expect('x-service' in request.headers).toBe(!inField)
      const taken = takeApart(request, signature)
      const computed = createHmac('sha256', KEY).update(taken.signed).digest(signature.encoding)
      expect(taken.signature).toBe(signature.prefix + computed)
      const { signed: body, signature: value } = taken
      expect(await verify({ body, signature: value, signatureKey: KEY })).toEqual({ ok: true, keyIndex: 0 })
      expect(await verify({ body, signature: value, signatureKey: 'other' })).toMatchObject({ ok: false })
      expect(Buffer.from(attempt.request.body), 'the record has the bytes of the wire').toEqual(request.body)
      const received: string[] = []
      const receiver = createReceiver({ signatureKey: KEY }).on('*', (event) =>
        received.push(event.changeType),
      )
      const arrived = new Request('http://receiver.example/hook', {
        method: 'POST',
        headers: request.headers as Record<string, string>,
        body: new Uint8Array(request.body),
      })
      expect((await receiver.fetch(arrived)).status).toBe(200)
      expect(received).toEqual(['FeaturesCreated'])
    },
  )

  it('the name of the header or field is configurable', async () => {
    const signature = { signatureHeader: 'X-Example-Signature' }
    const inHeader = await deliver(signature)
    expect(takeApart(inHeader.request, signature).signature).toMatch(/^[0-9a-f]{64}$/)
    expect(inHeader.request.headers['x-service']).toBeUndefined()
    const inField = await deliver({ ...signature, signatureIn: 'field' }, { contentType: FORM_TYPE })
    expect(inField.request.body.toString()).toMatch(/&X-Example-Signature=[0-9a-f]{64}$/)
  })

  it('a non-ASCII key is encoded as UTF-8', async () => {
    const { request } = await deliver({}, { signatureKey: 'Schlüssel東京' })
    const computed = createHmac('sha256', 'Schlüssel東京').update(request.body).digest('hex')
    expect(request.headers['x-service']).toBe(computed)
  })
})

describe('a webhook without a key', () => {
  it.each([JSON_TYPE, FORM_TYPE] as const)('sends no signature: %s', async (contentType) => {
    for (const signatureIn of ['header', 'field'] as const) {
      const { request, attempt } = await deliver({ signatureIn }, { signatureKey: '', contentType })
      expect(request.headers['x-service']).toBeUndefined()
      expect(request.body.toString()).not.toContain('x-service')
      expect(Object.keys(attempt.request.headers)).toEqual(['host', 'content-type', 'content-length'])
      expect(parsePayload({ body: request.body, contentType })).toMatchObject({
        ok: true,
        changeTypes: ['FeaturesCreated'],
      })
    }
  })
})

describe('the payload', () => {
  it('of a feature service names the webhook, its id and its service', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE, { folderName: 'City', hookUrl: receiver.url })])
    await service.trigger({ ...create, folderName: 'City', when: 1730000000000 })
    expect(JSON.parse(String(receiver.requests[0]?.body))).toEqual({
      serviceType: 'FeatureServer',
      changesUrl: expect.stringContaining('/City/Parcels/FeatureServer/extractChanges'),
      name: FEATURE.name,
      id: FEATURE.id,
      folderName: 'City',
      serviceName: 'Parcels',
      events: [{ eventType: 'FeaturesCreated', when: 1730000000000 }],
    })
  })

  it('of a geoprocessing service names the job', async () => {
    const receiver = await capture()
    const service = await start([seed(JOB, { hookUrl: receiver.url })], { clock: createManualClock(NOW) })
    await service.trigger({
      serviceName: 'Buffer',
      changeType: 'esriJobSucceeded',
      jobId: 'j42',
      taskName: 'Zones',
    })
    expect(JSON.parse(String(receiver.requests[0]?.body))).toEqual({
      serviceType: 'GPServer',
      jobId: 'j42',
      statusURL: expect.stringContaining('/Buffer/GPServer/Zones/jobs/j42'),
      name: JOB.name,
      taskName: 'Zones',
      folderName: '',
      serviceName: 'Buffer',
      events: [{ eventType: 'esriJobSucceeded', when: NOW }],
    })
  })
})

describe('an event reaches the webhooks that subscribe to it', () => {
  it.each<[changeType: string, subscribed: string[], isSent: boolean]>([
    ['FeaturesCreated', ['FeaturesCreated'], true],
    ['FeaturesCreated', ['FeaturesUpdated'], false],
    ['FeaturesCreated', ['FeaturesEdited'], true],
    ['FeaturesUpdated', ['FeaturesEdited'], true],
    ['FeaturesDeleted', ['FeaturesEdited'], true],
    ['AttachmentsCreated', ['FeaturesEdited'], false],
    ['FeaturesCreated', ['*'], true],
    ['FeaturesCreated', ['*', 'FeaturesCreated', 'FeaturesEdited'], true],
    ['SomethingNew', ['*'], true],
    ['__proto__', ['FeaturesCreated'], false],
  ])('%s, subscribed to %j', async (changeType, changeTypes, isSent) => {
    const receiver = await capture()
    const service = await start([seed(FEATURE, { hookUrl: receiver.url, changeTypes })])
    const attempts = await service.trigger({ ...create, changeType })
    expect([attempts.length, receiver.requests.length]).toEqual(isSent ? [1, 1] : [0, 0])
    if (isSent) expect(JSON.parse(String(receiver.requests[0]?.body)).events[0].eventType).toBe(changeType)
  })

  it('reaches each webhook of the service once, with its own key, and no webhooks of other services', async () => {
    const receiver = await capture()
    const of = (id: string, changes: Parameters<typeof seed>[1] = {}) =>
      seed(FEATURE, { id, name: id, signatureKey: `${id}key`, hookUrl: receiver.url, ...changes })
    const service = await start([
      of('a'),
      of('b'),
      of('asleep', { active: false }),
      of('city', { folderName: 'City' }),
      of('roads', { serviceName: 'Roads' }),
    ])
    const attempts = await service.trigger(create)
    expect(attempts.map(({ webhookId }) => webhookId)).toEqual(['a', 'b'])
    expect(receiver.requests).toHaveLength(2)
    for (const { body, headers } of receiver.requests) {
      const signatureKey = `${JSON.parse(body.toString()).id}key`
      const signature = String(headers['x-service'])
      expect(await verify({ body, signature, signatureKey })).toMatchObject({ ok: true })
    }
  })
})
