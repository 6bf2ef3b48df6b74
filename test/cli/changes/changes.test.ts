import { describe, expect, it } from 'vitest'
import { DOCUMENT, startHostile } from '../../changes/contract/hostile-server.ts'
import { FAST, type Service, startService, TOKEN } from '../../changes/support.ts'
import { createFolder, geohook, parseStdout } from '../../helpers/cli.ts'
import { START } from '../../mock/features/extract/support.ts'

const folder = createFolder()
const env = { GEOHOOK_TOKEN: TOKEN }

const URL_OF = (service: { url: string }, window = `[${START},${START + 1000}]`): string =>
  `${service.url}/extractChanges?serverGens=${window}`

/** Starts a mock that answers at once, because the command waits before it asks for the state of a job. */
const startFast = (mock: Parameters<typeof startService>[0] = {}): Promise<Service> =>
  startService({ extractChanges: { answer: 'embedded' }, ...mock })

async function generationOf(service: Service): Promise<number> {
  const { changeTrackingInfo } = await service.post('', { returnUpdates: 'true' })
  return changeTrackingInfo.layerServerGens[0].serverGen
}

/** Returns the cells of the rows of a table, without its head and the summary below it. */
const cellsOf = (stdout: string): string[][] =>
  stdout
    .split('\n')
    .slice(1, -2)
    .map((line) => line.split(/ {2,}/))

describe('geohook changes', () => {
  it.each(['job', 'embedded'] as const)(
    'prints one line for each edit, from an answer of the kind %s',
    async (answer) => {
      const service = await startService({ extractChanges: { answer } })
      await service.post('/0/updateFeatures', { features: [{ attributes: { OBJECTID: 1, name: 'first' } }] })
      await service.post('/0/deleteFeatures', { objectIds: '2' })
      const generation = await generationOf(service)
      const { code, stdout, stderr } = await geohook(
        ['changes', URL_OF(service, `[${generation - 2},${generation}]`)],
        { env },
      )
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout.split('\n')[0]).toMatch(/^layer +change +id +editor +when +attributes$/)
      const [update, removed, ...rest] = cellsOf(stdout)
      expect(update).toEqual(['0', 'update', '1', 'a', new Date(START).toISOString(), 'name=first'])
      expect(removed).toEqual(['0', 'delete', expect.stringMatching(/^\{?[0-9A-Fa-f-]{36}\}?$/)])
      expect(rest).toEqual([])
      expect(stdout).toContain(
        `\n0 adds, 1 update, 1 delete; to print only later changes, pass --after ${generation}\n`,
      )
    },
  )

  it('prints with --json what createChanges returns', async () => {
    const service = await startFast()
    const result = await geohook(['changes', URL_OF(service), '--json'], { env })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(parseStdout(result)).toEqual(await service.changes().of(service.event()))
  })

  it('sends the referer of --referer, which must be a URL or a host', async () => {
    const server = await startHostile({ extractChanges: DOCUMENT })
    const url = URL_OF(server)
    const sent = await geohook(['changes', url, '--referer', 'maps.example.com'], { env })
    expect(sent.code).toBe(0)
    expect(server.got.map(({ all }) => /"referer":"([^"]*)"/.exec(all)?.[1])).toEqual(['maps.example.com'])
    const refused = await geohook(['changes', url, '--referer', 'not a host'], { env })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('referer must be an http') })
  })

  it('accepts the percent-encoded URL of a payload', async () => {
    const service = await startFast()
    const result = await geohook(['changes', encodeURIComponent(URL_OF(service)), '--json'], { env })
    expect(parseStdout(result).layers[0].adds).toHaveLength(2)
  })

  it('begins after a generation, also of a service without a window', async () => {
    const service = await startFast()
    const first = await generationOf(service)
    await service.post('/0/addFeatures', { features: [{ attributes: { name: 'three' } }] })
    for (const url of [service.url, `${service.url}/`, URL_OF(service)]) {
      const result = await geohook(['changes', url, '--after', String(first), '--json'], { env })
      expect(result).toMatchObject({ code: 0, stderr: '' })
      expect(parseStdout(result).layers[0].adds).toMatchObject([{ attributes: { name: 'three' } }])
    }
    const last = String(await generationOf(service))
    const none = await geohook(['changes', service.url, '--after', last], { env })
    expect(none).toMatchObject({
      code: 0,
      stdout: `there are no changes; to print only later changes, pass --after ${last}\n`,
    })
  })

  it('prints changes of attachments with --attachments', async () => {
    const service = await startFast({ auth: undefined } as object)
    await service.attach(1, 'a.txt', 'twelve bytes')
    const plain = await geohook(['changes', URL_OF(service)])
    expect(plain.stdout).not.toContain('a.txt')
    const { stdout } = await geohook(['changes', URL_OF(service), '--attachments'])
    expect(stdout).toMatch(/add file .*a\.txt \(text\/plain, 12 bytes\) of /)
    expect(stdout).toContain('2 adds, 0 updates, 0 deletes, 1 change of an attachment')
  })

  it('escapes text that could control the terminal, and shortens it', async () => {
    const service = await startFast()
    const hostile = `\u001b[2J\u009b31m\u202e\nadd  ${'x'.repeat(200)}`
    await service.post('/0/addFeatures', { features: [{ attributes: { name: hostile } }] })
    for (const mode of [[], ['--json']]) {
      const { code, stdout } = await geohook(['changes', URL_OF(service), ...mode], { env })
      expect(code).toBe(0)
      expect(stdout).not.toMatch(/[^\P{C}\n]/u)
      if (mode.length > 0) expect(JSON.parse(stdout).layers[0].adds[2].attributes.name).toBe(hostile)
      else expect(cellsOf(stdout)[2]?.at(-2)).toContain('name=\\u{1b}[2J\\u{9b}31m\\u{202e}\\u{a}add')
    }
    const lines = (await geohook(['changes', URL_OF(service)], { env })).stdout.split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(200)
  })

  it('shortens the attributes to the space that a terminal has for them', async () => {
    const service = await startFast()
    await service.post('/0/addFeatures', { features: [{ attributes: { name: 'x'.repeat(70) } }] })
    const { code, stdout } = await geohook(['changes', URL_OF(service)], { env, columns: 80 })
    expect(code).toBe(0)
    const row = stdout.split('\n').find((line) => line.includes('name=xx'))
    expect(row).toMatch(/x…$/)
    expect(row).toHaveLength(80)
  })

  it('takes the token from an option, and follows the redirect of a file without it', async () => {
    const service = await startService({ extractChanges: { answer: 'job', redirect: true } })
    const file = folder.file('token.txt', `${TOKEN}\n`)
    for (const args of [
      ['--token', TOKEN],
      ['--token-file', file],
      ['--token-env', 'MY_TOKEN'],
    ]) {
      const result = await geohook(['changes', URL_OF(service), ...args], { env: { MY_TOKEN: TOKEN } })
      expect(result).toMatchObject({ code: 0, stderr: '' })
      expect(result.stdout).toContain('2 adds')
    }
    expect(await service.changes({ pollInterval: FAST }).of(service.event())).toMatchObject({
      layers: [{ id: 0 }],
    })
  })
})
