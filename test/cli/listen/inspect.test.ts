import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { geohook, parseEvents, type Running, startGeohook, withListener } from '../../helpers/cli.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { begin, send } from '../../helpers/http.ts'
import { unusedUrl } from '../../helpers/target.ts'
import { createPage, onlyId, type Page, textOf } from '../../inspector/helpers/request-log-support.ts'

const env = { SIGNATURE_KEY: KEY }
const body = payloadOf('FeaturesCreated')
const signed = { 'content-type': 'application/json', 'x-service': signatureOf(body) }

/** Starts a listener with its inspector, and passes both to a test. */
const withInspector = (
  args: readonly string[],
  use: (url: string, page: Page, listener: Running) => Promise<void>,
): ReturnType<typeof withListener> =>
  withListener(
    ['--inspect', '0', ...args],
    async (url, listener) => {
      const [, inspector = ''] = await listener.printed(/inspector on (http:\/\/127\.0\.0\.1:\d+)\/\n/)
      await use(url, createPage(inspector), listener)
    },
    { env },
  )

describe.concurrent('geohook listen --inspect', () => {
  it('shows verified and refused requests with the cause, and exact bytes', async () => {
    const { code, listener } = await withInspector([], async (url, page, { printed }) => {
      expect((await send(url, { headers: signed, body })).status).toBe(200)
      await printed(/verified/)
      const wrong = { ...signed, 'x-service': signatureOf(body, `${KEY}\n`) }
      expect((await send(`${url}hooks/a`, { headers: wrong, body })).status).toBe(401)
      await printed(/key_whitespace/)
      // The receiver refuses this request without its body, but the listener has read it.
      expect((await send(url, { body: 'unsigned' })).status).toBe(401)
      await printed(/signature_missing/)
      const [unsigned = '', refused = '', verified = ''] = await page.ids()
      expect(await page.row(verified)).toMatch(/FeaturesCreated Parcels 200 handled$/)
      expect(await page.row(refused)).toMatch(/\/hooks\/a signature_mismatch 401 refused$/)
      expect(textOf((await page.get('/')).text)).toContain(`geohook listen ${url}`)
      const text = textOf((await page.get(`/deliveries/${refused}`)).text)
      expect(text).toMatch(/Cause key_whitespace Evidence .+ Fix /)
      expect(text).not.toContain(KEY)
      expect(text).not.toContain(signatureOf(body))
      expect((await page.get(`/deliveries/${refused}/download`)).text).toBe(body)
      expect((await page.get(`/deliveries/${unsigned}/download`)).text).toBe('unsigned')
    })
    expect(code).toBe(0)
    expect(listener.stderr).toBe('')
    expect(listener.output).not.toContain(KEY)
  })

  it('sends a request again to the listener, and edits and signs a refused one', () =>
    withInspector([], async (url, page, { printed }) => {
      await send(`${url}hooks/a?b=1`, { headers: { ...signed, 'x-service': signatureOf('other') }, body })
      await printed(/refused/)
      const id = await onlyId(page)
      const form = await page.get(`/deliveries/${id}/resend`)
      const [, to = ''] = /name="to" value="([^"]*)"/.exec(form.text) ?? []
      expect(to).toBe(`${url}hooks/a?b=1`)
      const again = await page.submit(`/deliveries/${id}/resend`, { to })
      expect(textOf(again.text)).toContain(`${to} answered 401 in `)
      const values = { to, 'content-type': 'application/json', body, 'body-form': 'text' }
      const edited = await page.submit(`/deliveries/${id}/edit`, values)
      expect(textOf(edited.text)).toContain(`${to} answered 200 in `)
      const [newest = ''] = await page.ids()
      expect(await page.row(newest)).toMatch(/FeaturesCreated Parcels 200 handled$/)
    }))

  it('shows the response of the target that a delivery was forwarded to', () =>
    withTarget(
      async (target) => {
        await withInspector(['--forward-to', target.url], async (url, page, { printed }) => {
          expect((await send(url, { headers: signed, body })).status).toBe(422)
          await printed(/forwarded: answered 422/)
          const id = await onlyId(page)
          expect(await page.row(id)).toMatch(/422 forwarded$/)
          const attempts = textOf((await page.get(`/deliveries/${id}/attempts`)).text)
          expect(attempts).toContain('the target answered 422')
          expect(attempts).toContain('no such layer')
        })
      },
      { statuses: [422], body: 'no such layer' },
    ))

  it('shows that the target is unreachable, and that a sender has gone', async () => {
    await withInspector(['--forward-to', await unusedUrl()], async (url, page, { printed }) => {
      expect((await send(url, { headers: signed, body })).status).toBe(502)
      await printed(/forwarded: cannot reach/)
      const id = await onlyId(page)
      expect(await page.row(id)).toMatch(/502 unreachable$/)
      expect(textOf((await page.get(`/deliveries/${id}/attempts`)).text)).toContain('connection refused')
    })
    await withInspector(['--answer', '503', '--delay', '60000'], async (url, page, { printed }) => {
      const impatient = begin(url, { ...signed, 'content-length': body.length }, body)
      impatient.on('error', () => {}) // the test ends the request itself
      await once(impatient, 'socket')
      // When the listener has answered a later request, it has read this one.
      expect((await send(url, { body })).status).toBe(401)
      impatient.destroy()
      await printed(/closed the connection/)
      const [id = ''] = await page.ids('?outcome=answered')
      expect(await page.row(id)).toMatch(/503 answered$/)
      const attempts = textOf((await page.get(`/deliveries/${id}/attempts`)).text)
      expect(attempts).toContain('the sender closed the connection before the response')
    })
  })

  it('stops at once although a page waits for changes', async () => {
    const { code } = await withInspector([], async (_, __, { printed, stop }) => {
      const [, inspector = ''] = await printed(/inspector on (\S+)/)
      const stream = await fetch(`${inspector}live`)
      const ended = stream.text().catch(() => 'closed')
      expect(await stop()).toBe(0)
      expect(await ended).toBe('closed')
    })
    expect(code).toBe(0)
  })

  it('prints its address as an event, and ends with --once', async () => {
    const listener = startGeohook(['listen', '--port', '0', '--inspect', '0', '--json', '--once'], { env })
    const [, url = ''] = await listener.printed(/"listening","url":"([^"]+)"/)
    await send(url, { headers: signed, body })
    expect(await listener.exited).toBe(0)
    expect(parseEvents(listener)).toEqual([
      { event: 'listening', url },
      { event: 'inspector', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/) },
      expect.objectContaining({ event: 'request', finding: 'verified' }),
    ])
  })

  it('refuses a port that is in use, and names the option', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const result = await geohook(['listen', '--port', '0', '--inspect', String(port)], { env })
    server.close()
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toBe(
      `error: port ${port} of 127.0.0.1 is in use\nGive another --inspect; 0 picks a free one.\n`,
    )
    expect(await geohook(['listen', '--inspect', '99999'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('must be a whole number from 0 to 65535'),
    })
  })
})
