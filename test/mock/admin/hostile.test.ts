import { createManualClock } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, KEY } from '../../helpers/deliver.ts'
import { raw, send } from '../../helpers/http.ts'
import { FEATURE, JOB, NOWHERE, pathOf, post, same, start } from '../support.ts'
import { auth, get, postForm, statusOf, tokenOf, write } from './support.ts'

const EDIT = `${pathOf(FEATURE)}/edit`
const LIST = '/services/Parcels.FeatureServer/webhooks'
const good = new URLSearchParams(same(FEATURE)).toString()

const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))

describe('parameters and headers', () => {
  it('__proto__ and constructor as parameters do not pollute prototypes', async () => {
    const service = await start()
    const fields = { ...same(FEATURE), '__proto__[polluted]': '1', 'constructor[prototype][polluted]': '1' }
    expect((await post(service, EDIT, { ...fields, ['__proto__']: '{"polluted":1}' })).status).toBe(200)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    const schedule = '{"__proto__":{"state":"disabled"}}'
    expect((await post(service, EDIT, { ...same(FEATURE), scheduleInfo: schedule })).status).toBe(400)
  })

  it('ignores parameters in the query of a POST request, except f', async () => {
    const service = await start()
    const { status, text } = await postForm(
      `${service.url}${EDIT}?${good}&active=false&f=pjson`,
      same(FEATURE),
    )
    expect([status, JSON.parse(text).active]).toEqual([200, true])
    expect(text).toContain('\n  "active": true')
    expect((await postForm(`${service.url}${EDIT}?${good}`, {})).status).toBe(400)
  })

  it('line breaks in parameters do not reach response headers', async () => {
    const service = await start()
    const name = 'x\r\nset-cookie: a=b'
    const { status, body } = await post(service, EDIT, { ...same(FEATURE), name })
    expect([status, body.messages]).toEqual([400, ['name holds control characters']])
    const found = await post(service, EDIT, { ...same(FEATURE), f: 'json\r\nset-cookie: a=b' })
    expect([found.status, found.headers.get('set-cookie')]).toEqual([400, null])
  })

  it.each(['\0', 'a\0b', 'a\nb', 'a\u007fb', 'a\u0085b'])('refuses %j in a name', async (name) => {
    const service = await start()
    const { status, body } = await post(service, EDIT, { ...same(FEATURE), name })
    expect([status, body.messages]).toEqual([400, [expect.stringMatching(/^name (holds|has) /)]])
  })

  it('rejects repeated or malformed token headers and invalid queries', async () => {
    const service = await start(undefined, { auth: auth() })
    const token = await tokenOf(service, 'both')
    const once = `authorization: Bearer ${token}\r\n`
    const status = async (line: string, headers: string): Promise<number> =>
      statusOf(await write(service, line, { headers }))
    expect(await status(`GET ${LIST}`, once)).toBe(200)
    expect(await status(`GET ${LIST}`, `x-esri-authorization: Bearer ${token}\r\n`.repeat(2))).toBe(498)
    expect(await status(`GET ${LIST}`, `authorization: Bearer\r\n`)).toBe(499)
    expect(await status(`GET ${LIST}`, `authorization: Bearer ${token} x\r\n`)).toBe(498)
    expect(await status(`GET ${LIST}?token=%ff`, once)).toBe(400)
    expect(await status(`GET ${LIST}?token=${token}&token=${token}`, '')).toBe(400)
    expect(await status(`GET ${LIST}?${'x&'.repeat(1001)}`, once)).toBe(400)
    expect(await status(`GET ${LIST}?[x]=1`, once)).toBe(400)
  })

  it('ignores method override headers', async () => {
    const service = await start()
    const headers = { 'x-http-method-override': 'POST', 'content-type': FORM_TYPE }
    expect((await send(service.url + EDIT, { method: 'GET', headers })).status).toBe(405)
    expect((await get(`${service.url}${EDIT}?_method=POST&${good}`)).status).toBe(405)
  })

  it('returns 405 with the allowed methods', async () => {
    const service = await start()
    const allowOf = async (path: string) =>
      (await send(service.url + path, { method: 'DELETE' })).headers.allow
    expect(await allowOf(EDIT)).toBe('POST')
    expect(await allowOf(LIST)).toBe('GET, HEAD, POST')
    expect(await allowOf('/services/webhooks/settings')).toBe('GET, HEAD, POST')
  })
})

describe('bodies', () => {
  const PATHS = [
    EDIT,
    `${pathOf(FEATURE)}/delete`,
    `${LIST}/create`,
    `${LIST}/deleteAll`,
    LIST,
    pathOf(FEATURE),
    '/services/webhooks/settings',
    '/generateToken',
  ]

  it.each<[what: string, status: number, headers: Record<string, string>, body: string | Buffer]>([
    ['JSON', 415, { 'content-type': 'application/json' }, JSON.stringify(same(FEATURE))],
    ['not UTF-8', 400, { 'content-type': FORM_TYPE }, Buffer.from([0x6e, 0x3d, 0xff])],
    ['10 MB', 413, { 'content-type': FORM_TYPE }, 'x'.repeat(10_000_000)],
    ['two formats', 400, { 'content-type': FORM_TYPE }, `${good}&f=json&f=pjson`],
    ['two tokens', 400, { 'content-type': FORM_TYPE }, `${good}&token=a&token=b`],
  ])('%s: every operation returns %i and changes nothing', async (_, status, headers, body) => {
    const service = await start(undefined, { auth: auth(), clock: createManualClock() })
    const authorization = `Bearer ${await tokenOf(service, 'both')}`
    const before = service.snapshot()
    for (const path of PATHS.slice(0, status === 400 && String(body).includes('token') ? -1 : undefined)) {
      const answer = await send(service.url + path, { headers: { ...headers, authorization }, body })
      expect([path, answer.status, JSON.parse(answer.text)]).toEqual([
        path,
        status,
        { status: 'error', messages: [expect.any(String)], code: status },
      ])
      expect(answer.text).not.toContain(KEY)
    }
    expect(service.snapshot()).toEqual(before)
  })

  it('a request of 10 MB to an unknown path or with a wrong method does not hang', async () => {
    const service = await start()
    const body = 'x'.repeat(10_000_000)
    const headers = { 'content-type': FORM_TYPE }
    expect((await send(`${service.url}/nowhere`, { headers, body })).status).toBe(404)
    expect((await send(service.url + EDIT, { method: 'PUT', headers, body })).status).toBe(405)
    expect((await post(service, EDIT, same(FEATURE))).status).toBe(200)
  })

  it('a connection can be reused after a large body was refused', async () => {
    const service = await start()
    const large = 'x'.repeat(1_100_000)
    const head = `host: 127.0.0.1\r\ncontent-type: ${FORM_TYPE}\r\n`
    const first = `POST ${EDIT} HTTP/1.1\r\n${head}content-length: ${large.length}\r\n\r\n${large}`
    const second = `POST ${EDIT} HTTP/1.1\r\n${head}connection: close\r\ncontent-length: ${good.length}\r\n\r\n${good}`
    const answers = await raw(service.url, first + second)
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  })

  it('an error that quotes a header is valid JSON with a short message', async () => {
    const service = await start()
    const answer = await write(service, `POST ${EDIT}`, {
      headers: `content-encoding: "\\u2028${'x'.repeat(5000)}\r\n`,
      body: good,
    })
    expect(statusOf(answer)).toBe(415)
    const { messages } = bodyOf(answer) as { messages: string[] }
    expect(messages[0]?.length).toBeLessThan(301)
  })
})

describe('privileges cannot be bypassed', () => {
  it('a webhook cannot be reached through a service of another type', async () => {
    const service = await start(undefined, { auth: auth() })
    const token = await tokenOf(service, 'gp')
    const through = pathOf({ ...JOB, id: FEATURE.id })
    for (const operation of ['', '/edit', '/delete', '/notificationStatus']) {
      const { status } = await post(service, through + operation, { ...same(JOB), token, hookUrl: NOWHERE })
      expect(status).toBe(404)
    }
  })

  it('ignores parameters that would set the id, service, owner or times', async () => {
    const service = await start()
    const { body } = await post(service, EDIT, {
      ...same(FEATURE),
      id: 'x',
      serviceName: 'x',
      serviceType: 'GPServer',
      folderName: 'x',
      ownerId: 'mallory',
      modifiedId: 'mallory',
      created: '1',
      modified: '1',
      status: 'x',
    })
    const { modified, ...others } = FEATURE
    expect(body).toEqual({ ...others, modified: expect.any(Number), modifiedId: 'admin', status: 'success' })
    expect(body.modified).toBeGreaterThan(modified)
  })
})
