import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, type Mock, parseEvents, parseStdout, withMock } from '../../helpers/cli.ts'
import { seedFor, useJsonFiles } from '../../helpers/cli-seed.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { KEY } from '../../helpers/deliver.ts'

const folder = createFolder()
const jsonFile = useJsonFiles()
const PARCELS = 'Parcels.FeatureServer'

describe.concurrent('geohook mock', () => {
  it('has two services if no seed is given, prints events with --json, and exits with 0', async () => {
    const mock = await withMock(['--json'], async ({ geohook }) => {
      expect((await geohook('trigger', 'Analysis.GPServer', 'esriJobFailed')).code).toBe(4)
    })
    expect(await mock.exited).toBe(0)
    expect(parseStdout(mock)).toEqual({ event: 'listening', url: expect.stringMatching(/^http:/) })
  })

  it('prints attempts and changes without signatures, and only its address with --quiet', () =>
    withTarget(async ({ url }) => {
      const seed = jsonFile(seedFor(url))
      const use = async ({ geohook }: Mock): Promise<void> => {
        await geohook('trigger', PARCELS, 'FeaturesCreated')
        await geohook('delete', PARCELS, 'w0')
      }
      const mock = await withMock(['--seed', seed, '--json'], use)
      const [, attempt, webhook] = parseEvents(mock)
      expect(attempt).toMatchObject({
        event: 'attempt',
        webhookId: 'w0',
        number: 1,
        status: 200,
        hookUrl: url,
      })
      expect(webhook).toEqual({
        event: 'webhook',
        change: 'deleted',
        webhookId: 'w0',
        name: 'edits 0',
        service: PARCELS,
      })
      expect(mock.stdout).not.toMatch(/signature/i)
      const quiet = await withMock(['--seed', seed, '--quiet'], use)
      expect(quiet.stdout).toMatch(/^mock service on .*\n$/)
    }))

  it('shows the inspector at its address, with a clock that can be advanced', async () => {
    await withMock([], async ({ url }) => {
      const page = await (await fetch(url)).text()
      expect(page).toContain(`<title>geohook mock ${new URL(url).host}</title>`)
      expect(page).toContain('href="/clock"')
      expect((await fetch(`${url}/assets/inspector.css`)).status).toBe(200)
    })
  })

  it('applies --service-version and --like', () =>
    withTarget(async ({ url, requests }) => {
      const args = ['--service-version', '11.1', '--seed', jsonFile(seedFor(url))]
      await withMock(args, async ({ geohook }) => {
        expect((await geohook('list')).code).toBe(1) // listing all services requires version 11.2
        expect((await geohook('trigger', PARCELS, 'FeaturesCreated')).code).toBe(0)
        expect(requests[0]?.headers['x-service']).toBeUndefined()
      })
      await withMock(['--like', 'dialect=hosted', '--seed', jsonFile(seedFor(url))], async ({ geohook }) => {
        await geohook('trigger', PARCELS, 'FeaturesCreated')
        expect(requests[1]?.headers['x-esrihook-signature']).toMatch(/^sha256=/)
      })
    }))

  it.each([
    ['a missing seed', ['--seed', 'nowhere.json'], /cannot read nowhere\.json/],
    ['a seed that is a list', ['--seed', jsonFile([])], /\d+\.json: a seed must be a JSON object/],
    ['a seed with an unknown member', ['--seed', jsonFile({ hooks: [] })], /\d+\.json: .*hooks/],
    ['a seed with an invalid URL', ['--seed', jsonFile(seedFor('ftp://x'))], /\d+\.json: .*hookUrl/],
    [
      'a seed with white space around a key',
      [
        '--seed',
        jsonFile({
          webhooks: [
            {
              serviceName: 'P',
              serviceType: 'GPServer',
              name: 'n',
              hookUrl: 'http://127.0.0.1',
              signatureKey: `${KEY}\n`,
            },
          ],
        }),
      ],
      /white space/,
    ],
    [
      'a state file with invalid content',
      ['--state', folder.file('none.json', '{"webhooks":{}}')],
      /none\.json: .*webhooks/,
    ],
    [
      'a state file in a missing folder',
      ['--state', join(folder.path, 'no', 'state.json')],
      /cannot write .*ENOENT/,
    ],
    [
      'invalid users',
      ['--users', folder.file('users.json', '[{"username":"a","password":1}]')],
      /users\.json: .*password/,
    ],
    [
      'an unknown version',
      ['--service-version', '10'],
      /--service-version <version>: Allowed choices are 11\.1/,
    ],
  ])('refuses %s with exit code 2', async (_, args, message) => {
    const { code, stdout, stderr } = await geohook(['mock', '--port', '0', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain(KEY)
  })

  it('rejects an incomplete state file with exit code 2, and does not change it', async () => {
    const content = '{"webhooks":[{"signatureKey":"parcels2026"'
    const state = folder.file('half.json', content)
    const { code, stderr } = await geohook(['mock', '--port', '0', '--state', state])
    expect(code).toBe(2)
    expect(stderr).toMatch(/half\.json is not JSON/)
    expect(stderr).not.toContain(KEY)
    expect(readFileSync(state, 'utf8')).toBe(content)
  })

  it('reports a port in use, and writes no state file, because it would replace the seed', () =>
    withTarget(async ({ url }) => {
      const state = join(folder.path, 'never.json')
      const result = await geohook(['mock', '--port', new URL(url).port, '--state', state])
      expect(result).toMatchObject({ code: 2, stdout: '' })
      expect(result.stderr).toMatch(/^error: port \d+ of 127\.0\.0\.1 is in use\n/)
      expect(readdirSync(folder.path).filter((name) => name.startsWith('never'))).toEqual([])
    }))
})

it('geohook mock --help shows how to create a first webhook, and a valid seed', async () => {
  const { stdout } = await geohook(['mock', '--help'])
  expect(stdout).toMatch(/\$ geohook create Parcels\.FeatureServer --name edits --hook-url /)
  expect(stdout).toMatch(/\$ geohook trigger Parcels\.FeatureServer FeaturesCreated/)
  const [, seed = ''] = /A seed file:\n(.*?)\n\n/s.exec(stdout) ?? []
  expect(JSON.parse(seed)).toMatchObject({ webhooks: [{ name: expect.any(String) }] })
})
