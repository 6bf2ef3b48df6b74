import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, KEY } from '../../helpers/deliver.ts'
import { type Answer, type Sent, send } from '../../helpers/http.ts'
import { FEATURE, pathOf, same, seed, start } from '../support.ts'

const EDIT = `${pathOf(FEATURE)}/edit`
const DELETE = `${pathOf(FEATURE)}/delete`
/** Every request contains this key, and no error response may repeat it. */
const NEW_KEY = 'newparcelskey'
const FORM = { 'content-type': FORM_TYPE }
const good = new URLSearchParams({ ...same(FEATURE), signatureKey: NEW_KEY }).toString()
const edit = (more: string): Sent => ({ headers: FORM, body: `${good}&${more}` })

/** Sends a bad request, and checks the properties that all error responses share. */
async function refused(path: string, request: Sent): Promise<Answer & { messages: string[] }> {
  const service = await start([seed(FEATURE)])
  const before = service.snapshot()
  const answer = await send(service.url + path, request)
  expect(service.snapshot(), 'nothing changes').toEqual(before)
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  const body = JSON.parse(answer.text) as { messages: string[] }
  expect(Object.keys(body), 'the error shape').toEqual(['status', 'messages', 'code'])
  expect(body).toMatchObject({ status: 'error', code: answer.status })
  expect(body.messages.length).toBeGreaterThan(0)
  for (const message of body.messages) expect(message).toMatch(/^.{1,400}$/su)
  expect(answer.text, 'no key in an error').not.toMatch(new RegExp(`${KEY}|${NEW_KEY}`))
  expect(answer.text, 'no stack in an error').not.toMatch(/node_modules|\.ts:|\bat /)
  return { ...answer, messages: body.messages }
}

describe('returns an error for a bad request, and changes nothing', () => {
  it.each<[what: string, status: number, request: Sent, message?: RegExp]>([
    ['no body', 400, {}, /^name is required$/],
    ['an empty form', 400, { headers: FORM, body: '' }, /^name is required$/],
    ['a form of separators', 400, { headers: FORM, body: '&&' }, /form is empty/],
    ['__proto__ as a parameter', 400, edit('__proto__=x&name=y'), /^name is given more than once$/],
    ['only __proto__', 400, { headers: FORM, body: '__proto__=x&constructor=y' }, /^name is required$/],
    ['bracket notation', 400, { headers: FORM, body: 'name[0]=x&__proto__[name]=y' }, /^name is required$/],
    ...['name', 'signatureKey', 'hookUrl', 'active', 'contentType', 'scheduleInfo', 'payloadFormat', 'f'].map(
      (name): [string, number, Sent, RegExp] => [
        `${name} twice`,
        400,
        edit(`${name}=json&${name}=json`),
        new RegExp(`^${name} is given more than once$`),
      ],
    ),
    ['a parameter twice, once empty', 400, edit('active=&active=true'), /^active is given more than once$/],
    ['percent-encoding that is not UTF-8', 400, edit('x=%ff'), /invalid percent-encoding/],
    ['a name that is not UTF-8', 400, edit('%ff=x'), /invalid percent-encoding/],
    ['an encoded surrogate', 400, edit('x=%ed%a0%80'), /invalid percent-encoding/],
    ['invalid percent-encoding', 400, edit('x=%zz'), /invalid percent-encoding/],
    ['truncated percent-encoding', 400, edit('x=%'), /invalid percent-encoding/],
    ['raw bytes', 400, { headers: FORM, body: Buffer.from(`${good}&x=\xff`, 'latin1') }, /not valid UTF-8/],
    ['UTF-16', 400, { headers: FORM, body: Buffer.from(`\ufeff${good}`, 'utf16le') }, /not valid UTF-8/],
    ['1001 fields', 400, edit('x&'.repeat(1001)), /1000 fields$/],
    ['JSON that is called a form', 400, { headers: FORM, body: '{"name":"n"}' }, /like JSON/],
    ['a name of 900 kB', 400, { headers: FORM, body: `name=${'n'.repeat(900_000)}` }, /^name is longer/],
    ['a change type of 900 kB', 400, edit(`changeTypes=${'n'.repeat(900_000)}`), /^changeTypes holds "nnn/],
    [
      'a schedule member of 900 kB',
      400,
      edit(`scheduleInfo={"${'n'.repeat(900_000)}":1}`),
      /^scheduleInfo has no member "nnn/,
    ],
    ['a schedule of 400 kB', 400, edit(`scheduleInfo=${'['.repeat(400_000)}`), /^scheduleInfo must be/],
    ...['htm', 'geojson', 'xml', '__proto__', '0', 'html%00', '%3Cscript%3E'].map(
      (f): [string, number, Sent, RegExp] => [
        `f=${f}`,
        400,
        edit(`f=${f}`),
        /^f must be json, pjson or html$/,
      ],
    ),
    ['gzip', 415, { headers: { ...FORM, 'content-encoding': 'gzip' }, body: gzipSync(good) }],
    ['JSON', 415, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(same(FEATURE)) }],
    [
      'a multipart form that is cut off',
      400,
      { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x\r\ncontent-dis' },
      /^the body is not valid multipart\/form-data$/,
    ],
    [
      'a multipart form with a file',
      400,
      {
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: '--x\r\ncontent-disposition: form-data; name="name"; filename="a"\r\n\r\nedits\r\n--x--\r\n',
      },
      /^the administration accepts no files$/,
    ],
    ['plain text', 415, { headers: { 'content-type': 'text/plain' }, body: good }],
    ['no media type', 415, { body: good }],
    ['an invalid media type', 415, { headers: { 'content-type': 'form' }, body: good }],
    [
      'another charset',
      415,
      { headers: { 'content-type': `${FORM_TYPE}; charset=iso-8859-1` }, body: good },
      /application\/x-www-form-urlencoded or multipart\/form-data, in UTF-8/,
    ],
    ['10 MB', 413, edit(`x=${'n'.repeat(10_000_000)}`), /too large/],
    ['10 MB in chunks', 413, { headers: FORM, chunks: Array(100).fill('n'.repeat(100_000)) }, /too large/],
  ])('%s: %i', async (_, status, request, message = /./) => {
    const answer = await refused(EDIT, request)
    expect([answer.status, answer.messages]).toEqual([
      status,
      expect.arrayContaining([expect.stringMatching(message)]),
    ])
  })

  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s: returns 405 and allows POST',
    async (method) => {
      for (const path of [EDIT, DELETE]) {
        if (method === 'HEAD') {
          // A response to HEAD has no body, so its error shape cannot be checked.
          const service = await start([seed(FEATURE)])
          expect(await send(service.url + path, { method })).toMatchObject({ status: 405, text: '' })
        } else {
          const { status, headers, messages } = await refused(path, { method })
          expect([status, headers.allow, messages]).toEqual([405, 'POST', ['use POST']])
        }
      }
    },
  )

  it.each([
    ['nothing', ''],
    ['the services', '/services'],
    ['a service', '/services/Parcels.FeatureServer'],
    ['a service and a slash', '/services/Parcels.FeatureServer/'],
    ['an operation of services, without one', '/services/create'],
    ['a service without a name', EDIT.replace('Parcels', '')],
    ['an encoded slash', EDIT.replace('/edit', '%2Fedit')],
    ['an encoded folder', EDIT.replace('/services', '/services/City%2FCentre')],
    ['an unknown operation', `${pathOf(FEATURE)}/close`],
    ['an operation of every object', `${pathOf(FEATURE)}/constructor`],
    ['an operation in capitals', `${pathOf(FEATURE)}/EDIT`],
    ['words of the path in capitals', EDIT.replace('services', 'SERVICES').replace('webhooks', 'WebHooks')],
    ['a slash at the end', `${EDIT}/`],
    ['two slashes', EDIT.replace('/webhooks', '//webhooks')],
    ['a longer path', `${EDIT}/now`],
    ['the word webhooks twice', EDIT.replace('/webhooks', '/webhooks/webhooks')],
    ['no slash after the word webhooks', EDIT.replace('/webhooks/', '/webhooks')],
    ['two folders', EDIT.replace('/services', '/services/City/Centre')],
    ['a service in an unknown folder', EDIT.replace('/services', '/services/City')],
    ['an unknown service', EDIT.replace('Parcels', 'Roads')],
    ['an unknown webhook', EDIT.replace(FEATURE.id, '00000000-0000-4000-8000-000000000000')],
    ['an id of every object', EDIT.replace(FEATURE.id, '__proto__')],
    ['an id with a null byte', EDIT.replace(FEATURE.id, `${FEATURE.id}%00`)],
    ['an id in capitals', EDIT.replace(FEATURE.id, FEATURE.id.toUpperCase())],
    ['an id of 10 kB', EDIT.replace(FEATURE.id, 'i'.repeat(10_000))],
  ])('returns 404 for the path of %s', async (_, path) => {
    expect((await refused(path, edit(''))).status).toBe(404)
  })

  it.each(['%ff', '%', '%zz', '%c3%28', '%ed%a0%80', '%c0%ae'])(
    'returns 404 for %s in the path',
    async (part) => {
      for (const word of ['Parcels.FeatureServer', FEATURE.id]) {
        expect((await refused(EDIT.replace(word, part), edit(''))).status).toBe(404)
      }
    },
  )

  it('returns 404 for an unknown path, for any method and media type', async () => {
    const json = { headers: { 'content-type': 'application/json' }, body: '{}' }
    expect((await refused('/nowhere', json)).status).toBe(404)
    expect((await refused('/nowhere', { method: 'GET' })).status).toBe(404)
  })

  it('indents an error for f=pjson', async () => {
    const { text } = await refused(EDIT, edit('f=pjson&active=maybe'))
    expect(text).toBe(JSON.stringify(JSON.parse(text), null, 2))
  })
})

describe('accepts unusual but valid requests', () => {
  it.each<[string, Sent]>([
    [
      'the media type in capitals, with a charset',
      { headers: { 'content-type': `${FORM_TYPE.toUpperCase()}; charset=UTF-8` }, body: good },
    ],
    ['a body in chunks', { headers: FORM, chunks: [good.slice(0, 9), good.slice(9)] }],
    ['a byte order mark', { headers: FORM, body: `\ufeff${good}` }],
    ['unknown parameters', edit('token=t&__proto__=x&id=other&created=1&ownerId=mallory')],
    ['999 more parameters', edit('x&'.repeat(996))],
    ['encoded letters in the path', edit('f=json')],
  ])('%s', async (what, request) => {
    const service = await start([seed(FEATURE)])
    const path = what.includes('path') ? EDIT.replace('Parcels', '%50arcels') : EDIT
    const answer = await send(service.url + path, request)
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"status":"success"')])
    const { modified, ...after } = service.snapshot().webhooks[0] ?? {}
    expect(after).toEqual(
      (({ modified, ...before }) => ({ ...before, signatureKey: NEW_KEY, modifiedId: 'admin' }))(
        seed(FEATURE),
      ),
    )
  })
})
