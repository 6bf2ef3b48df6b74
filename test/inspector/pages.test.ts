import { execFile } from 'node:child_process'
import type { RequestListener } from 'node:http'
import { promisify } from 'node:util'
import { createInspector } from 'geohook/inspector'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Item } from '../../src/inspector/source.ts'
import { hasProgram } from '../helpers/programs.ts'
import { serve } from '../helpers/served.ts'
import { createFakeSource, createItem, inspectable } from './helpers/fake-source.ts'

const run = promisify(execFile)

const listen = async (app: RequestListener): Promise<string> => (await serve(app)).url

const show = (...items: Item[]): Promise<string> =>
  listen(createInspector(inspectable(createFakeSource(items))))

const get = async (origin: string, path: string): Promise<string> => (await fetch(origin + path)).text()

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const decode = (markup: string): string => markup.replace(/&(#?\w+);/g, (_, name) => ENTITIES[name] ?? '?')

/** The text of the first preformatted element. */
const preIn = (page: string): string =>
  decode(/<pre class="bytes[^>]*>([\s\S]*?)<\/pre>/.exec(page)?.[1] ?? 'none')

function withBody(body: string | Uint8Array, contentType = 'application/json'): Item {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const item = createItem('d1')
  return { ...item, size: bytes.length, request: { ...item.request, body: bytes, contentType } }
}

describe('the body', () => {
  it.each([
    [
      'JSON',
      '{"a":[1,{"b":"x"}],"c":{},"d":[ ]}',
      '{\n  "a": [\n    1,\n    {\n      "b": "x"\n    }\n  ],\n  "c": {},\n  "d": []\n}',
    ],
    [
      'numbers, escapes and member order as sent',
      '{"z":1.0,"a":1e3,"z":"\\u00e9\\/"}',
      '{\n  "z": 1.0,\n  "a": 1e3,\n  "z": "\\u00e9\\/"\n}',
    ],
    ['brackets in strings', '["[{\\"","\\\\"]', '[\n  "[{\\"",\n  "\\\\"\n]'],
    ['invalid JSON', '{"a":', '{"a":'],
    ['nothing', '', ''],
  ])('indents %s', async (_, body, pretty) => {
    expect(preIn(await get(await show(withBody(body)), '/deliveries/d1/body'))).toBe(pretty)
  })

  it('shows the fields of a form, with JSON in them indented', async () => {
    const form = new URLSearchParams({ payload: '{"a":1}', signature: 'x y' }).toString()
    const origin = await show(withBody(form, 'application/x-www-form-urlencoded'))
    expect(preIn(await get(origin, '/deliveries/d1/body'))).toBe('payload = {\n  "a": 1\n}\nsignature = x y')
    expect(preIn(await get(origin, '/deliveries/d1/body?view=raw'))).toBe(form)
  })

  it('indents deep nesting only up to a limit', async () => {
    const page = await get(
      await show(withBody('['.repeat(10_000) + ']'.repeat(10_000))),
      '/deliveries/d1/body',
    )
    expect(page.length).toBeLessThan(1_000_000)
  })

  it('shows bytes in hex', async () => {
    const origin = await show(withBody(Uint8Array.from([0, 255, 60, 97, 10])))
    expect(preIn(await get(origin, '/deliveries/d1/body?view=hex'))).toBe(
      `00000000  00 ff 3c 61 0a${' '.repeat(33)}  ..<a.`,
    )
  })

  it('is downloaded byte for byte, also if it is too large to show', async () => {
    const bytes = Uint8Array.from({ length: 300 * 1024 }, (_, i) => (i * i) >> 3)
    const origin = await show(withBody(bytes))
    expect(await get(origin, '/deliveries/d1/body')).toContain('only the first 256.0 KiB are shown')
    const response = await fetch(`${origin}/deliveries/d1/download`)
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="d1.bin"')
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
    expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), bytes)).toBe(0)
  })

  it('can be missing', async () => {
    const item = createItem('d1')
    const origin = await show({ ...item, request: { ...item.request, body: undefined } })
    for (const tab of ['', '/body', '/headers', '/events', '/signature', '/curl'])
      expect((await fetch(`${origin}/deliveries/d1${tab}`)).status).toBe(200)
    expect((await fetch(`${origin}/deliveries/d1/download`)).status).toBe(404)
  })
})

describe('the curl command', () => {
  it.skipIf(!hasProgram('curl')).each([
    ['JSON', '{"a":"it\'s $HOME `id` \\"x\\" !"}'],
    ['line breaks and an @', '@a\r\n\n\tb\n'],
    ['percent signs', '%s%d %%'],
    ['text in Unicode', 'é€𝄞'],
    ['nothing', ''],
  ])('sends the exact bytes and headers of %s', async (_, text) => {
    const received: [Buffer, Record<string, unknown>][] = []
    const target = await listen(async (req, res) => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk)
      received.push([Buffer.concat(chunks), req.headers])
      res.end()
    })
    const item = withBody(text)
    const headers = [
      ...item.request.headers,
      ['x-odd', `'; touch x; echo "$(id)"`],
      ['secret', '***'],
    ] as const
    const origin = await show({ ...item, request: { ...item.request, address: target, headers } })
    const command = preIn(await get(origin, '/deliveries/d1/curl'))
    expect(command).not.toContain('secret')
    await run('sh', ['-c', command])
    expect(received[0]?.[0]).toEqual(Buffer.from(text))
    expect(received[0]?.[1]).toMatchObject({
      'x-service': 'ab'.repeat(32),
      'x-odd': `'; touch x; echo "$(id)"`,
    })
  })

  it('reads bytes that are not text from the downloaded file', async () => {
    const command = preIn(await get(await show(withBody(Uint8Array.from([0, 255]))), '/deliveries/d1/curl'))
    expect(command).toContain("--data-binary '@d1.bin'")
  })
})

describe('the comparison', () => {
  const pair = (a: Item, b: Item): Item[] => [
    { ...a, id: 'a' },
    { ...b, id: 'b' },
  ]

  it('shows lines that differ in request, headers and body', async () => {
    const page = await get(
      await show(...pair(withBody('{"a":1,"b":2}'), withBody('{"a":1,"b":3}'))),
      '/diff?a=a&b=b',
    )
    expect(page).toContain('<del>-   &quot;b&quot;: 2\n</del><ins>+   &quot;b&quot;: 3\n</ins>')
  })

  it('finds differences that indenting hides', async () => {
    const page = await get(await show(...pair(withBody('{"a":1}'), withBody('{"a": 1}'))), '/diff?a=a&b=b')
    expect(page).toContain('The bodies differ first at offset 5')
  })

  it('says that equal bodies are equal', async () => {
    const page = await get(await show(...pair(withBody('[]'), withBody('[]'))), '/diff?a=a&b=b')
    expect(page).toContain('The bodies have the same bytes.')
  })

  it('gives up on bodies that are too large or too different', async () => {
    const lines = (word: string): string =>
      JSON.stringify(Array.from({ length: 5000 }, (_, i) => `${word}${i}`))
    const origin = await show(...pair(withBody(lines('a')), withBody(lines('b'))))
    expect(await get(origin, '/diff?a=a&b=b')).toContain('Too different to compare.')
    const large = await show(...pair(withBody('x'.repeat(600 * 1024)), withBody('y')))
    expect(await get(large, '/diff?a=a&b=b')).toContain('Too large to compare.')
  })

  it('answers 404 for a delivery that does not exist', async () => {
    expect((await fetch(`${await show(createItem('a'))}/diff?a=a&b=c`)).status).toBe(404)
  })
})

it('shows why a delivery was refused, next to what was expected', async () => {
  const origin = await show(
    createItem('d1', {
      outcome: { tone: 'bad', word: 'refused', status: 401 },
      code: 'signature_mismatch',
      signature: { state: 'refused', name: 'x-service', expectedEncoding: 'hex or base64' },
      explain: async () => ({
        ok: false,
        cause: 'key_whitespace',
        also: ['body_bom'],
        evidence: 'It ends with LF.',
        fix: 'Trim it.',
      }),
    }),
  )
  for (const tab of ['', '/signature']) {
    const page = await get(origin, `/deliveries/d1${tab}`)
    for (const text of ['signature_mismatch', 'key_whitespace, body_bom', 'It ends with LF.', 'Trim it.'])
      expect(page).toContain(text)
  }
  expect(await get(origin, '/deliveries/d1/signature')).toContain('hex, 64 digits')
})

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>'</textarea></title>javascript:alert(1)\0\u202e`

it('escapes hostile text in every field', async () => {
  const item: Item = {
    ...createItem(HOSTILE),
    changeTypes: [HOSTILE],
    service: HOSTILE,
    webhook: HOSTILE,
    target: HOSTILE,
    outcome: { tone: 'bad', word: HOSTILE, status: 401 },
    request: {
      method: HOSTILE,
      url: HOSTILE,
      headers: [[HOSTILE, HOSTILE]],
      body: new TextEncoder().encode(HOSTILE),
      contentType: HOSTILE,
    },
    attemptLog: [
      {
        number: 1,
        time: new Date(Number.NaN),
        tone: 'bad',
        result: HOSTILE,
        note: HOSTILE,
        answer: { headers: [[HOSTILE, HOSTILE]], body: HOSTILE },
      },
    ],
    facts: [[HOSTILE, HOSTILE]],
    signature: {
      state: 'refused',
      name: HOSTILE,
      expectedEncoding: HOSTILE,
      key: HOSTILE,
      encoding: HOSTILE,
    },
    code: HOSTILE,
    error: HOSTILE,
    explain: async () => ({ ok: false, cause: 'unexplained', evidence: HOSTILE, fix: HOSTILE }),
  }
  const source = { ...createFakeSource([item]), title: HOSTILE }
  const origin = await listen(createInspector(inspectable(source)))
  const id = encodeURIComponent(HOSTILE)
  const filter = `text=${id}&service=${id}&type=${id}&outcome=${id}`
  const paths = ['/', `/?${filter}`, `/deliveries/${id}/discard`, `/diff?a=${id}&b=${id}`]
  for (const tab of [
    '',
    '/body',
    '/body?view=raw',
    '/body?view=hex',
    '/headers',
    '/events',
    '/signature',
    '/attempts',
    '/curl',
  ])
    paths.push(`/deliveries/${id}${tab}`)
  for (const path of paths) {
    const response = await fetch(origin + path)
    expect([path, response.status]).toEqual([path, 200])
    const page = await response.text()
    expect(page).not.toMatch(/<script>|<img|onerror=alert\(1\)>(?!')|\0/)
    expect(page.match(/<script/g)).toHaveLength(1)
    expect(page).not.toMatch(/(?:href|src|action)="javascript/)
  }
  const { headers } = await fetch(`${origin}/deliveries/${id}/download`)
  expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[\w-]+\.bin"$/)
})

describe('a form', () => {
  it('keeps what was typed when the input is invalid, except secrets', async () => {
    const fields = [
      { name: 'name', label: 'Name', value: 'old' },
      { name: 'text', label: 'Text', kind: 'multiline' as const },
      {
        name: 'kind',
        label: 'Kind',
        kind: 'choice' as const,
        choices: [
          ['a', 'A'],
          ['b', 'B'],
        ] as const,
      },
      { name: 'on', label: 'On', kind: 'checkbox' as const, value: 'true' },
      { name: 'key', label: 'Key', kind: 'secret' as const },
    ]
    const source = createFakeSource()
    const { WebhookError } = await import('geohook')
    const panel = {
      name: 'webhooks',
      title: 'Webhooks',
      summary: async () => 'none',
      render: async () => (await import('../../src/inspector/html/template.ts')).html`<p>none</p>`,
      actions: [
        {
          name: 'create',
          label: 'Create',
          fields: () => fields,
          async run(): Promise<never> {
            throw new WebhookError('config_invalid', { message: 'the name <b> is taken' })
          },
        },
      ],
    }
    const origin = await listen(createInspector(inspectable({ ...source, panels: [panel] })))
    const page = await get(origin, '/webhooks/create')
    expect(page).toContain('value="old"')
    const secret = /name="form-secret" value="(\w+)"/.exec(page)?.[1] ?? ''
    const body = new URLSearchParams({
      'form-secret': secret,
      name: '<new>',
      text: '\na\nb',
      kind: 'b',
      key: 'a-typed-key',
    })
    const response = await fetch(`${origin}/webhooks/create`, { method: 'POST', body })
    const again = await response.text()
    expect(response.status).toBe(400)
    expect(again).toContain('the name &lt;b&gt; is taken')
    expect(again).toContain('value="&lt;new&gt;"')
    expect(again).toContain('>\n\na\nb</textarea>')
    expect(again).toContain('<option value="b" selected>')
    expect(again).not.toContain('checked')
    expect(again).not.toContain('a-typed-key')
  })
})

it('answers an unexpected error with 500, without its text', async () => {
  const warnings: string[] = []
  const note = (warning: Error): void => void warnings.push(warning.message)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const source = {
    ...createFakeSource(),
    get: () => Promise.reject(new Error('postgres://user:password@host')),
  }
  const origin = await listen(createInspector(inspectable(source)))
  const response = await fetch(`${origin}/deliveries/d1`)
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('password')
  await expect.poll(() => warnings, { timeout: 60_000 }).toHaveLength(1)
  expect(warnings[0]).toMatch(/^the inspector failed: Error at .*pages\.test\.ts/)
})
