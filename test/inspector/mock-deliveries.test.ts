import { createInspector } from 'geohook/inspector'
import { createRunningClock, type FaultName } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, KEY } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { capture, FEATURE, NOWHERE } from '../mock/support.ts'
import { CREATED, lastPath, mock, open, PARCELS, pathsOf, receiver, submit } from './helpers/mock-support.ts'

describe('the list of deliveries', () => {
  it('hides the keys of all webhooks, also of edited and deleted ones', async () => {
    const url = await receiver()
    const service = await mock(`${url}?k=key-of-the-job`)
    const [feature, job] = service.snapshot().webhooks
    await submit(service, '/webhooks/edit', {
      name: job?.name ?? '',
      hookUrl: url,
      changeTypes: '*',
      signatureKey: 'key-of-the-job',
      entry: job?.id ?? '',
    })
    await service.trigger(CREATED)
    const edited = { body: 'garbage', 'body-form': 'text', 'content-type': 'application/json' }
    await submit(service, `${lastPath(service)}/edit`, edited)
    for (const path of ['/', lastPath(service)]) {
      const { text } = await open(service, path)
      expect(text).toContain('?k=***')
      expect(text).not.toContain('key-of-the-job')
    }
    await submit(service, '/webhooks/delete', { entry: feature?.id ?? '' })
    expect((await open(service)).text).toContain('?k=***')
  })

  it('shows one row for all attempts of a delivery, with its content and its outcome', async () => {
    const { url } = await capture((_req, res) => res.writeHead(503).end('busy'))
    const service = await mock(
      url,
      {},
      { settings: { notificationAttempts: 2, notificationElapsedTimeInSeconds: 0 } },
    )
    await service.trigger(CREATED)
    const { text, status } = await open(service)
    expect(status).toBe(200)
    expect(text).toContain(`<title>geohook mock ${service.url.replace('http://', '')}</title>`)
    expect(text.match(/<li data-id=/g)).toHaveLength(1)
    expect(text).toContain('<span class="types">FeaturesCreated</span>')
    expect(text).toContain(`<span class="place">${PARCELS} · ${FEATURE.name}</span>`)
    expect(text).toMatch(/<span class="outcome bad">503 refused <span [^>]*>×2</)
  })

  it('shows deliveries without a response, and successful ones', async () => {
    const lost = await mock(NOWHERE)
    await lost.trigger(CREATED)
    expect((await open(lost)).text).toContain('<span class="outcome bad">no response</span>')
    expect((await open(lost, lastPath(lost))).text).toContain('ECONNREFUSED')
    const good = await mock(await receiver())
    await good.trigger(CREATED)
    expect((await open(good)).text).toContain('<span class="outcome good">200 delivered</span>')
  })

  it('filters by service, change type, webhook, outcome and text', async () => {
    const service = await mock(await receiver())
    await service.trigger(CREATED)
    await service.trigger({ serviceName: 'Buffer', changeType: 'esriJobSucceeded' })
    const count = async (query: string): Promise<number> =>
      (await open(service, `/?${query}`)).text.match(/<li data-id=/g)?.length ?? 0
    expect(await count('')).toBe(2)
    for (const query of [
      'service=Buffer.GPServer',
      'type=FeaturesCreated',
      `webhook=${encodeURIComponent(FEATURE.name)}`,
      'text=jobsucc',
    ])
      expect([query, await count(query)]).toEqual([query, 1])
    expect(await count('outcome=delivered')).toBe(2)
    expect(await count('outcome=refused')).toBe(0)
  })

  it('shows a delivery while it is in flight, and sends the change to the page', async () => {
    const { gate, release } = createGate()
    const { url } = await capture((_req, res) => void gate.then(() => res.end()))
    const service = await mock(url)
    const live = await fetch(`${service.url}/live`, { signal: AbortSignal.timeout(60_000) })
    const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader()
    const read = async (text: string): Promise<void> => {
      for (let all = ''; !all.includes(text); ) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error(`the stream ended before ${text}`)
        all += value
      }
    }
    const attempts = service.trigger(CREATED)
    await read('event: rows')
    expect((await open(service)).text).toContain('<span class="outcome pending">in flight</span>')
    expect((await open(service, `${lastPath(service)}/attempts`)).text).toContain('in flight')
    release()
    await attempts
    await read('event: rows')
    expect((await open(service)).text).toContain('delivered')
    service.faults.add({ fault: 'altered' })
    await read('event: panels')
    await reader?.cancel()
  })

  it('forgets the attempts, and only those, when it is cleared', async () => {
    const service = await mock(await receiver())
    await service.trigger(CREATED)
    service.faults.add({ fault: 'altered' })
    const { text } = await submit(service, '/clear')
    expect(text).toContain('No deliveries yet')
    expect([service.deliveries, service.faults.list().length]).toEqual([[], 1])
    expect(service.snapshot().webhooks).toHaveLength(2)
  })

  it('shows the service and the webhook of a delivery after the webhook was deleted', async () => {
    const service = await mock(await receiver())
    await service.trigger(CREATED)
    await submit(service, '/webhooks/delete', { entry: FEATURE.id })
    const { text } = await open(service, lastPath(service))
    expect(text).toContain(`<dd>${FEATURE.name}</dd>`)
    expect(text).toContain(`${FEATURE.id} (deleted)`)
    const edited = await submit(service, `${lastPath(service)}/edit`, {
      body: '{}',
      'content-type': 'application/json',
    })
    expect([edited.status, edited.text]).toEqual([
      400,
      expect.stringContaining('webhook of this delivery was deleted'),
    ])
    expect((await submit(service, `${lastPath(service)}/resend`)).text).toContain(
      'The receiver answered 200.',
    )
  })
})

describe('a refused delivery', () => {
  it('names the cause that the request proves', async () => {
    const { url } = await capture((_req, res) => res.writeHead(400).end())
    const service = await mock(url)
    await service.trigger(CREATED)
    await submit(service, `${lastPath(service)}/edit`, { body: '{"a":', 'content-type': 'application/json' })
    const malformed = await open(service, lastPath(service))
    expect(malformed.text).toContain('<dd>payload_cut_off</dd>')
  })

  it('says so if the signature is right: the receiver has another key, or the bytes changed', async () => {
    const service = await mock(await receiver({ signatureKey: 'another key' }))
    await service.trigger(CREATED)
    for (const tab of ['', '/signature']) {
      const { text } = await open(service, lastPath(service) + tab)
      expect(text).toContain('refused: <code>unauthorized</code>')
      expect(text).toContain('the receiver has another key, or the bytes changed on the way')
      expect(text).toMatch(/The signature is right for the key of the webhook and the \d+ bytes/)
      expect(text).toContain('Compare the key of the receiver with that of the webhook')
    }
  })

  it.each<FaultName>(['wrong_key', 'altered', 'unsigned', 'truncated', 'wrong_content_type', 'gzip'])(
    'names the fault %s, and its change types',
    async (fault) => {
      const service = await mock(await receiver())
      service.faults.add({ fault, times: 1 })
      await service.trigger(CREATED)
      const { text } = await open(service, lastPath(service))
      expect(text).toContain(`<dd>fault ${fault}</dd>`)
      expect(text).toContain(`The mock injected the fault ${fault}`)
      expect(text).toContain('<dt>Change types</dt><dd>FeaturesCreated</dd>')
    },
  )

  it.each([
    ['the webhook has no key', { signatureKey: '' }, {}],
    ['the service does not sign', {}, { version: '11.1' }],
    ['the receiver expects another secret', {}, { like: { dialect: 'organization' } }],
  ] as const)('says: %s', async (cause, changes, options) => {
    const service = await mock(await receiver(), changes, options)
    await service.trigger(CREATED)
    const { text } = await open(service, lastPath(service))
    expect(text).toContain(`<dd>${cause}</dd>`)
    expect((await open(service, `${lastPath(service)}/signature`)).text).toContain(
      'The delivery has no signature.',
    )
  })

  it('says that the key was edited after the delivery was signed, and an edited delivery has the new key', async () => {
    const service = await mock(await receiver({ signatureKey: 'the new key' }))
    await service.trigger(CREATED)
    const first = lastPath(service)
    const { name, hookUrl } = service.snapshot().webhooks[0]!
    const values = { name, hookUrl, changeTypes: '*', signatureKey: 'the new key', entry: FEATURE.id }
    await submit(service, '/webhooks/edit', values)
    expect((await open(service, first)).text).toContain('<dd>the key of the webhook has changed</dd>')
    const body = Buffer.from(service.deliveries[0]!.request.body).toString()
    const { text, path } = await submit(service, `${first}/edit`, {
      body,
      'content-type': 'application/json',
    })
    expect(text).toContain('The receiver answered 200.')
    expect(path).not.toBe(first)
  })

  it('knows the key of each attempt if retries are signed again, and hides them all', async () => {
    const keys = ['key-of-the-first', 'key-of-the-second', 'key-of-the-third'] as const
    const { url, requests } = await capture(async (_req, res) => {
      await service.edit(FEATURE.id, { signatureKey: keys[requests.length] as string })
      res.writeHead(401).end(`the key is not ${keys[requests.length - 1]}`)
    })
    const settings = { notificationAttempts: 2, notificationElapsedTimeInSeconds: 0 }
    const service = await mock(
      url,
      { signatureKey: keys[0] },
      { settings, like: { retries: 'signed-again' } },
    )
    await service.trigger(CREATED)
    await service.edit(FEATURE.id, { signatureKey: keys[1] })
    const path = lastPath(service)
    expect((await open(service, path)).text).toContain('<dd>the receiver has another key')
    await service.edit(FEATURE.id, { signatureKey: keys[2] })
    expect((await open(service, path)).text).toContain('<dd>the key of the webhook has changed</dd>')
    const { text } = await open(service, `${path}/attempts`)
    expect(text.match(/the key is not \*\*\*/g)).toHaveLength(2)
    await service.redeliver(service.deliveries[0]!.id)
    await service.edit(FEATURE.id, { signatureKey: keys[1] })
    expect((await open(service, path)).text).toContain('<dd>the key of the webhook has changed</dd>')
  })

  it('that a receiver refuses for a reason of its own, points to the receiver', async () => {
    const { url } = await capture((_req, res) => res.writeHead(500).end('database down'))
    const service = await mock(url)
    await service.trigger(CREATED)
    expect((await open(service, lastPath(service))).text).toContain('<dd>the receiver itself</dd>')
    expect((await open(service, `${lastPath(service)}/attempts`)).text).toContain('database down')
  })
})

describe('the actions on a delivery', () => {
  it('resend: the same bytes, as another attempt of the delivery', async () => {
    const { url, requests } = await capture()
    const service = await mock(url)
    await service.trigger(CREATED)
    const { text, path } = await submit(service, `${lastPath(service)}/resend`)
    expect(path).toBe(lastPath(service))
    expect(text).toContain('The receiver answered 200.')
    expect(requests[1]?.body).toEqual(requests[0]?.body)
    expect(service.deliveries.map(({ number }) => number)).toEqual([1, 2])
  })

  it.each([
    ['service', 'application/json'],
    ['service', FORM_TYPE],
    ['hosted', FORM_TYPE],
  ] as const)(
    'edit and sign: in the dialect %s, a receiver accepts an edited body in %s',
    async (dialect, contentType) => {
      const options = dialect === 'hosted' ? ({ profile: 'arcgis' } as const) : {}
      const service = await mock(await receiver(options), { contentType }, { like: { dialect } })
      await service.trigger(CREATED)
      const first = lastPath(service)
      const form = await open(service, `${first}/edit`)
      const [, body = ''] = /<textarea id="body"[^>]*>\n([^<]*)<\/textarea>/.exec(form.text) ?? []
      expect(body).not.toContain('sha256')
      const { text, path } = await submit(service, `${first}/edit`, {
        body: body.replace('FeaturesCreated', 'FeaturesDeleted'),
        'body-form': 'text',
        'content-type': contentType,
      })
      expect(text).toContain('The receiver answered 200.')
      expect(text).toContain('<span class="types">FeaturesDeleted</span>')
      expect(path).not.toBe(first)
    },
  )

  it('edit and sign: keeps the input after an error', async () => {
    const service = await mock(await receiver())
    await service.trigger(CREATED)
    for (const wrong of [
      { body: 'zz', 'body-form': 'hex', 'content-type': 'application/json' },
      { body: 'zz', 'body-form': 'text', 'content-type': 'bad\u00e9' },
    ]) {
      const { status, text } = await submit(service, `${lastPath(service)}/edit`, wrong)
      expect([status, text]).toEqual([400, expect.stringContaining('>\nzz</textarea>')])
    }
    expect(service.deliveries).toHaveLength(1)
  })

  it('send to another address: the same bytes and headers, as a delivery of its own', async () => {
    const { url, requests } = await capture()
    const service = await mock(await receiver())
    await service.trigger(CREATED)
    const first = lastPath(service)
    const { text, path } = await submit(service, `${first}/replay`, { to: url })
    expect(path).toBe(lastPath(service))
    expect(path).not.toBe(first)
    expect(text).toContain(`Sent to ${url}. The receiver answered 200.`)
    expect(requests[0]?.body).toEqual(Buffer.from(service.deliveries[0]!.request.body))
    expect(requests[0]?.headers['x-service']).toBe(service.deliveries[0]?.request.headers['x-service'])
  })

  it.each(['http://192.0.2.1/hook', 'ftp://127.0.0.1/', 'nonsense', 'http://user:pw@127.0.0.1/', ''])(
    'send to another address: refuses %s, and keeps it',
    async (to) => {
      const service = await mock(await receiver())
      await service.trigger(CREATED)
      const { status, text } = await submit(service, `${lastPath(service)}/replay`, { to })
      expect([status, text]).toEqual([400, expect.stringContaining(`name="to" value="${to}"`)])
      expect(service.deliveries).toHaveLength(1)
    },
  )
})

describe('secrecy', () => {
  it.each(['service', 'organization'] as const)(
    'no page of the dialect %s contains a key',
    async (dialect) => {
      // A careless receiver that sends the whole request back.
      const { url } = await capture((req, res) => {
        res.setHeader('x-echo', KEY)
        res.end(`${JSON.stringify(req.headers)} ${KEY}`)
      })
      const service = await mock(url, {}, { like: { dialect }, clock: createRunningClock() })
      await service.trigger(CREATED)
      await submit(service, `${lastPath(service)}/replay`, { to: `${url}?other=${KEY}` })
      for (const path of pathsOf(service)) {
        const { text, status } = await open(service, path)
        expect([path, text.includes(KEY)]).toEqual([path, false])
        if (!path.endsWith('/resend')) expect([path, status]).toEqual([path, 200])
      }
      const typed = 'typed-key-of-the-form'
      const { text, status } = await submit(service, '/webhooks/create', {
        entry: PARCELS,
        name: '',
        signatureKey: typed,
      })
      expect([status, text.includes(typed)]).toEqual([400, false])
    },
  )

  it('every page escapes markup in names, payloads and responses', async () => {
    const evil = `<script>alert(1)</script>"><img src=x onerror='x'>`
    const { url } = await capture((_req, res) => res.writeHead(400, { 'x-evil': evil }).end(evil))
    const part = evil.replaceAll('/', '')
    const service = await mock(
      `${url}?${evil.replaceAll(' ', '')}`,
      { name: evil, serviceName: part, folderName: part, changeTypes: ['*', evil] },
      { clock: createRunningClock() },
    )
    await service.trigger({ serviceName: part, folderName: part, changeType: evil })
    await submit(service, `${lastPath(service)}/edit`, { body: evil, 'content-type': evil })
    for (const path of pathsOf(service).filter((name) => !name.includes(PARCELS))) {
      const response = await fetch(service.url + path)
      const text = await response.text()
      expect([path, /<script(?! type="module" src="\/assets)|<img/.test(text)]).toEqual([path, false])
      expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
    }
  })
})

describe('the address of the mock', () => {
  it('shows the inspector only if the control API is enabled, and leaves other paths to the administration', async () => {
    const off = await mock(NOWHERE, {}, { control: false })
    expect((await open(off)).status).toBe(404)
    const service = await mock(NOWHERE)
    const json = await fetch(`${service.url}/nowhere`)
    expect([json.status, await json.json()]).toEqual([
      404,
      { status: 'error', messages: ['there is nothing here'], code: 404 },
    ])
    expect((await fetch(`${service.url}/services/webhooks`)).headers.get('content-type')).toContain('json')
    expect((await fetch(`${service.url}/_mock/faults`)).status).toBe(200)
    expect((await open(service, '/services/webhooks')).text).toContain('>Inspector</a>')
  })

  it('is not the only place: createInspector(service) shows the same deliveries elsewhere', async () => {
    const service = await mock(await receiver())
    await service.trigger(CREATED)
    const handler = createInspector(service, { base: '/inspect', authorize: () => true })
    const response = await handler.fetch(new Request('http://127.0.0.1/inspect/'))
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('200 delivered')])
  })
})
