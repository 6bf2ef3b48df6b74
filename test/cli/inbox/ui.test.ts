// @module-tag sqlite
import { connect } from 'node:net'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFolder, geohook, parseEvents, startGeohook, withoutProgress } from '../../helpers/cli.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../../helpers/dead-letters.ts'
import { type Answer, send } from '../../helpers/http.ts'
import { unusedUrl } from '../../helpers/target.ts'

const TOKEN = 'Geheimnis0123456789'
const folder = createFolder()
const tokenFile = folder.file('token.txt', `${TOKEN}\n`)
let number = 0

/** An inbox with one dead letter. */
async function createInbox() {
  const path = join(folder.path, `inbox-${number++}.db`)
  const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
  onTestFinished(() => inbox.close())
  const [id = ''] = await fill(inbox, payloads(1))
  await handleAll(inbox, 'the map is away')
  return { path, inbox, id }
}

async function startUi(args: readonly string[], env: Record<string, string> = {}) {
  const ui = startGeohook(['inbox', 'ui', '--port', '0', ...args], { env })
  onTestFinished(() => void ui.stop())
  const [, url = ''] = await ui.printed(/(http:\/\/[\d.]+:\d+)\//)
  return { ui, url }
}

const get = (url: string, headers: Record<string, string> = {}): Promise<Answer> =>
  send(url, { method: 'GET', headers })

const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  send(url, {
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })

describe('geohook inbox ui', () => {
  it('shows and retries deliveries, runs no handlers, and exits with 0 although a stream is open', async () => {
    const { path, inbox, id } = await createInbox()
    const { ui, url } = await startUi(['--store', path])
    expect(ui.stdout).toBe(`inspector of the inbox on ${url}/ (Ctrl-C stops it)\n`)
    const page = await get(`${url}/deliveries/${id}`)
    expect(page.text).toContain('the map is away')
    expect((await get(`${url}/inbox`)).text).not.toContain('at most 1')
    const [, secret = ''] = /name="form-secret" value="([^"]+)"/.exec(page.text) ?? []
    expect((await post(`${url}/deliveries/${id}/retry`, { 'form-secret': secret })).status).toBe(303)
    expect(await inbox.get(id)).toMatchObject({ state: 'waiting', attempts: 0 })

    const stream = await fetch(`${url}/live`)
    const reader = stream.body?.getReader()
    await reader?.read()
    const ended = reader?.closed.catch(() => {}) // Node's server resets the connection
    expect(await ui.stop()).toBe(0)
    await ended
    expect(await inbox.get(id)).toMatchObject({ state: 'waiting', attempts: 0 })
    expect(withoutProgress(ui.stderr)).toBe('')
  })

  it('prints its address as an event with --json', async () => {
    const { path } = await createInbox()
    const { ui, url } = await startUi(['--store', path, '--json'])
    expect(await ui.stop()).toBe(0)
    expect(parseEvents(ui)).toEqual([{ event: 'listening', url: `${url}/` }])
  })

  it('asks for the token, and accepts it from the login page and as bearer token', async () => {
    const { path } = await createInbox()
    const { ui, url } = await startUi(['--store', path, '--token-file', tokenFile])
    for (const refused of [
      await get(`${url}/`),
      await get(`${url}/`, { authorization: 'Bearer wrong-token-wrong-token' }),
      await post(`${url}/login`, { token: 'wrong-token-wrong-token' }),
    ]) {
      expect(refused.status).toBe(401)
      expect(refused.headers['set-cookie']).toBeUndefined()
      expect(refused.text).not.toContain('the map is away')
    }
    expect((await get(`${url}/`, { authorization: `Bearer ${TOKEN}` })).text).toContain('the map is away')
    const login = await post(`${url}/login`, { token: TOKEN, to: '/inbox' })
    expect(login).toMatchObject({ status: 303, headers: { location: '/inbox' } })
    const [cookie = ''] = login.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/^geohook-inspector=[\da-f]{64}; HttpOnly; SameSite=Strict; Path=\/$/)
    const page = await get(`${url}/`, { cookie: cookie.split(';')[0] as string })
    expect(page.status).toBe(200)
    expect(page.text).not.toContain(TOKEN)
    await ui.stop()
    expect(ui.output).not.toContain(TOKEN)
  })

  it('listens for other machines with a token only', async () => {
    const { path } = await createInbox()
    const args = ['--host', '0.0.0.0', '--store', path]
    const refused = await geohook(['inbox', 'ui', '--port', '0', ...args])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('error: other machines can reach this --host')
    const { ui, url } = await startUi(args, { GEOHOOK_INSPECTOR_TOKEN: TOKEN })
    expect((await get(url.replace('0.0.0.0', '127.0.0.1'))).status).toBe(401)
    expect(await ui.stop()).toBe(0)
  })

  it.each([
    ['a short token', ['--token', 'short'], 'token must have at least 16 characters'],
    ['two tokens', ['--token', TOKEN, '--token', TOKEN], 'only one token can be used'],
    ['an unset variable', ['--token-env', 'NOT_SET'], 'the environment variable of --token-env is not set'],
    ['a missing store', ['--store', 'nowhere.db'], 'no inbox at the path in --store'],
  ])('refuses %s with exit code 2', async (_, args, message) => {
    const { path } = await createInbox()
    const { code, stdout, stderr } = await geohook(['inbox', 'ui', '--port', '0', ...args], {
      env: { GEOHOOK_INBOX: path },
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain(TOKEN)
  })

  it('reports a port in use with exit code 2', () =>
    withTarget(async ({ url }) => {
      const { path } = await createInbox()
      const { code, stderr } = await geohook(['inbox', 'ui', '--port', new URL(url).port, '--store', path])
      expect(code).toBe(2)
      expect(stderr).toMatch(/^error: port \d+ of 127\.0\.0\.1 is in use\n/)
    }))

  it('refuses requests with the host name of another site', async () => {
    const { path } = await createInbox()
    const { ui, url } = await startUi(['--store', path])
    const { port } = new URL(url)
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.end(`GET / HTTP/1.1\r\nHost: rebound.example:${port}\r\nConnection: close\r\n\r\n`)
      let text = ''
      socket.on('data', (data) => {
        text += data
      })
      socket.on('close', () => resolve(text))
    })
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
    expect(answer).not.toContain('the map is away')
    await ui.stop()
  })

  it('exits with 3 if the server of the store is unreachable', async () => {
    const store = `postgres://geohook:${TOKEN}@${new URL(await unusedUrl()).host}/inbox`
    const { code, stdout, stderr } = await geohook(['inbox', 'ui', '--port', '0', '--store', store])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(/^error: cannot reach PostgreSQL at 127\.0\.0\.1:\d+: /)
    expect(stderr).not.toContain(TOKEN)
  })
})
