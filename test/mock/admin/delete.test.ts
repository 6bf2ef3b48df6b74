import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { send } from '../../helpers/http.ts'
import { capture, FEATURE, JOB, pathOf, post, same, seed, start } from '../support.ts'

describe('delete', () => {
  it.each([
    ['feature service', FEATURE],
    ['geoprocessing service', JOB],
  ])('deletes the webhook of a %s, and no other', async (_, from) => {
    const service = await start()
    const { status, text } = await post(service, `${pathOf(from)}/delete`, {})
    expect([status, text]).toEqual([200, '{"status":"success"}'])
    expect(service.snapshot().webhooks).toEqual([seed(from === FEATURE ? JOB : FEATURE)])
    expect(service.snapshot().services).toHaveLength(2)
  })

  it.each([
    ['json', '{"status":"success"}'],
    ['pjson', '{\n  "status": "success"\n}'],
  ])('f=%s', async (f, text) => {
    const service = await start()
    expect((await post(service, `${pathOf(FEATURE)}/delete`, { f })).text).toBe(text)
  })

  it.each<[string, Parameters<typeof send>[1]]>([
    ['no body at all', {}],
    ['no body, and the type of a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['no body, and another type', { headers: { 'content-type': 'application/json', 'content-length': 0 } }],
    [
      'an empty body in chunks',
      { headers: { 'content-type': 'application/x-www-form-urlencoded' }, chunks: [''] },
    ],
  ])('requires no parameter: %s', async (_, request) => {
    const service = await start()
    const answer = await send(`${service.url}${pathOf(FEATURE)}/delete`, request)
    expect([answer.status, answer.text]).toEqual([200, '{"status":"success"}'])
  })

  it('is permanent: edit, delete and trigger no longer find the webhook', async () => {
    const receiver = await capture()
    const service = await start([seed(FEATURE, { hookUrl: receiver.url })])
    await post(service, `${pathOf(FEATURE)}/delete`, {})
    for (const operation of ['edit', 'delete']) {
      const { status, body } = await post(service, `${pathOf(FEATURE)}/${operation}`, same(FEATURE))
      expect([status, body]).toEqual([
        404,
        { status: 'error', messages: ['the webhook does not exist'], code: 404 },
      ])
    }
    expect(await service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })).toEqual([])
    expect(receiver.requests).toEqual([])
    expect(service.snapshot().webhooks).toEqual([])
  })

  it('editing another webhook does not restore the id of a deleted one', async () => {
    const service = await start([seed(FEATURE), seed(FEATURE, { id: 'other', name: 'other' })])
    await post(service, `${pathOf(FEATURE)}/delete`, {})
    const { body } = await post(service, `${pathOf({ ...FEATURE, id: 'other' })}/edit`, {
      ...same(FEATURE),
      id: FEATURE.id,
    })
    expect(body).toMatchObject({ id: 'other', name: FEATURE.name, status: 'success' })
    expect(service.snapshot().webhooks.map(({ id }) => id)).toEqual(['other'])
  })

  it('does not stop a delivery in flight', async () => {
    const held = new EventEmitter()
    const receiver = await capture((_req, res) => held.emit('arrived', res))
    const service = await start([seed(FEATURE, { hookUrl: receiver.url })])
    const arrived = once(held, 'arrived')
    const triggered = service.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    const [res] = (await arrived) as [ServerResponse]
    await post(service, `${pathOf(FEATURE)}/delete`, {})
    res.end('late')
    expect((await triggered)[0]?.answer?.body).toBe('late')
  })
})
