import { createMemoryDuplicates, createMemoryInbox } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { base64Of, FORM_TYPE, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { onlyId, startInspected, textOf } from './helpers/request-log-support.ts'

const body = payloadOf('FeaturesCreated')
const signed = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }

describe('the inspector of a request log', () => {
  it.each<[string, Parameters<typeof startInspected>[0], Parameters<typeof startInspected>[1], RegExp]>([
    ['handled', {}, undefined, /FeaturesCreated Parcels 200 handled$/],
    ['unhandled', {}, (receiver) => void receiver.on('FeaturesDeleted', () => {}), /200 unhandled$/],
    ['stored', { inbox: createMemoryInbox() }, undefined, /202 stored$/],
    [
      'failed',
      {},
      (receiver) => {
        receiver.on('*', () => {
          throw new Error('the disk is full')
        })
      },
      /500 failed$/,
    ],
  ])('shows a delivery that was %s', async (_, options, prepare, row) => {
    const { hook, page } = await startInspected(options, prepare)
    await send(hook, { headers: signed, body })
    const id = await onlyId(page)
    expect(await page.row(id)).toMatch(row)
    expect(textOf((await page.get(`/deliveries/${id}`)).text)).toContain('Delivery ')
  })

  it('shows the tenant of a delivery', async () => {
    const { hook, page } = await startInspected({ signatureKey: () => ({ keys: KEY, tenant: 'a <b>' }) })
    await send(hook, { headers: signed, body })
    const { text } = await page.get(`/deliveries/${await onlyId(page)}`)
    expect(text).toContain('<dt>Tenant</dt><dd>a &lt;b&gt;</dd>')
  })

  it('shows the error of a failed handler, without keys in it', async () => {
    const { hook, page } = await startInspected({}, (receiver) => {
      receiver.on('*', () => {
        throw new TypeError(`no <table> for ${KEY}`)
      })
    })
    await send(hook, { headers: signed, body })
    const { text } = await page.get(`/deliveries/${await onlyId(page)}`)
    expect(text).toContain('TypeError: no &lt;table&gt; for ***')
  })

  it('shows each request of a delivery as a row, and names the others', async () => {
    const { hook, page } = await startInspected({ duplicates: createMemoryDuplicates() })
    await send(hook, { headers: signed, body })
    await send(hook, { headers: signed, body })
    const [second = '', first = ''] = await page.ids()
    expect(await page.row(first)).toMatch(/200 handled$/)
    expect(await page.row(second)).toMatch(/200 duplicate$/)
    expect(textOf((await page.get(`/deliveries/${second}`)).text)).toContain(`Same delivery ${first}`)
    expect(await page.ids('?outcome=duplicate')).toEqual([second])
  })

  it('shows a handshake without the signature of its response', async () => {
    const { hook, page } = await startInspected({ profile: 'arcgis' })
    const answer = await send(`${hook}?crc_token=abc`, { method: 'GET' })
    const id = await onlyId(page)
    expect(await page.row(id)).toMatch(/200 handshake$/)
    const [, signature = ''] = /sha256=([^"]+)/.exec(answer.text) ?? []
    expect(signature).not.toBe('')
    expect((await page.get(`/deliveries/${id}/attempts`)).text).not.toContain(signature)
  })

  it('explains a refusal with its proved cause, evidence and fix, when a page shows it', async () => {
    const { hook, page } = await startInspected()
    const headers = { ...signed, 'x-service': signatureOf(body, `${KEY}\n`) }
    expect((await send(hook, { headers, body })).status).toBe(401)
    const id = await onlyId(page)
    expect(await page.row(id)).toMatch(/\/hook signature_mismatch 401 refused$/)
    for (const tab of ['', '/signature']) {
      const text = textOf((await page.get(`/deliveries/${id}${tab}`)).text)
      expect(text).toContain('refused: signature_mismatch')
      expect(text).toMatch(/Cause key_whitespace Evidence .* with "\\n" after it\. Fix Store the same key/)
    }
  })

  it.each([
    ['hex', signatureOf(body)],
    ['base64', `sha256=${base64Of(body)}`],
  ])('shows which key verified the signature, and that it was sent in %s', async (encoding, signature) => {
    const { hook, page } = await startInspected({ signatureKey: ['newer2026', KEY] })
    await send(hook, { headers: { ...signed, 'x-service': signature }, body })
    const text = textOf((await page.get(`/deliveries/${await onlyId(page)}/signature`)).text)
    expect(text).toContain(`verified with key 2 of 2; it was sent in ${encoding}.`)
    expect(text).toContain('Encoding hex or base64')
  })

  it('shows the signature of a form field', async () => {
    const { hook, page } = await startInspected({ signatureKey: [KEY, 'older2025'] })
    const payload = new URLSearchParams({ payload: body }).toString()
    const form = `${payload}&x-service=${signatureOf(payload.slice('payload='.length))}`
    await send(hook, { headers: { 'content-type': FORM_TYPE }, body: form })
    const text = textOf((await page.get(`/deliveries/${await onlyId(page)}/signature`)).text)
    expect(text).toContain('verified with key 1 of 2 (newest); it was sent in hex, in a form field.')
  })

  it('offers the exact bytes for download, also those of a refused request', async () => {
    const { hook, page, pageUrl } = await startInspected()
    const bytes = Uint8Array.from({ length: 1024 }, (_, index) => index % 256)
    await send(hook, { headers: signed, body: bytes })
    const response = await fetch(`${pageUrl}/deliveries/${await onlyId(page)}/download`)
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
  })

  it('filters by service, change type, outcome and text', async () => {
    const { hook, page } = await startInspected()
    const other = payloadOf('FeaturesDeleted').replace('Parcels', 'Roads')
    await send(hook, { headers: signed, body })
    await send(hook, { headers: { ...signed, 'x-service': signatureOf(other) }, body: other })
    await send(`${hook}?refused=1`, { body })
    const [refused, roads, parcels] = await page.ids()
    expect(await page.ids('?service=Roads')).toEqual([roads])
    expect(await page.ids('?type=FeaturesCreated')).toEqual([parcels])
    expect(await page.ids('?outcome=refused')).toEqual([refused])
    expect(await page.ids('?text=REFUSED%3D1')).toEqual([refused])
  })

  it('forgets its requests when asked', async () => {
    const { hook, page, requestLog } = await startInspected()
    await send(hook, { headers: signed, body })
    // The start page has the secret of every form.
    const { text } = await page.get('/')
    const secret = /name="form-secret" value="([^"]+)"/.exec(text)?.[1] ?? ''
    const cleared = await fetch(new URL('/inspect/clear', hook), {
      method: 'POST',
      body: new URLSearchParams({ 'form-secret': secret }),
    })
    expect(await cleared.text()).toContain('No deliveries yet')
    expect(requestLog.size).toBe(0)
  })

  it('announces new requests to open pages', async () => {
    const { hook, pageUrl } = await startInspected()
    const stopped = new AbortController()
    const stream = await fetch(`${pageUrl}/live`, { signal: stopped.signal })
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
    await send(hook, { headers: signed, body })
    let text = ''
    while (!text.includes('event: rows')) text += Buffer.from((await reader.read()).value ?? []).toString()
    expect(text).toMatch(/data: \["\d+-[\da-f]{6}"\]/)
    stopped.abort()
  })
})
