import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, type Mock, type RunOptions, withListener } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { KEY } from '../../helpers/deliver.ts'
import { startTarget, type Target, unusedUrl } from '../../helpers/target.ts'

const { geohook, withMock } = useGeohook()

const folder = createFolder()
const PARCELS = 'Parcels.FeatureServer'
const seedFor = (hookUrl: string, count = 1): object => ({
  webhooks: [
    ...Array.from({ length: count }, (_, number) => ({
      serviceName: 'Parcels',
      serviceType: 'FeatureServer',
      id: `w${number}`,
      name: `edits ${number}`,
      changeTypes: ['FeaturesCreated'],
      hookUrl,
      signatureKey: KEY,
    })),
    {
      folderName: 'Jobs',
      serviceName: 'Analysis',
      serviceType: 'GPServer',
      name: 'jobs',
      hookUrl,
      signatureKey: KEY,
    },
  ],
  settings: { notificationAttempts: 1 },
})

let files = 0
const seedFile = (seed: unknown): string => folder.file(`seed-${++files}.json`, JSON.stringify(seed))

async function withTarget(use: (target: Target) => Promise<void>, status = 200): Promise<void> {
  const target = await startTarget((res) => res.writeHead(status).end())
  try {
    await use(target)
  } finally {
    await target.close()
  }
}

describe.concurrent('geohook mock, list, edit, delete and trigger', () => {
  it('are the whole loop with listen', async () => {
    const options: RunOptions = { env: { SIGNATURE_KEY: KEY } }
    await withListener(
      [],
      async (hookUrl, listener) => {
        const seed = seedFile(seedFor(hookUrl))
        const mock = await withMock(['--seed', seed], async ({ geohook, mock, url }) => {
          const list = await geohook('list')
          expect(list).toMatchObject({ code: 0, stderr: '' })
          expect(list.stdout).toMatch(/^service +id +name +change types +active +key +hookUrl\n/)
          expect(list.stdout).toMatch(
            /Parcels\.FeatureServer +w0 +edits 0 +FeaturesCreated +yes +\*\*\* +http/,
          )
          expect(list.stdout).toMatch(/Jobs\/Analysis\.GPServer +[\w-]+ +jobs /)

          const created = await geohook('trigger', PARCELS, 'FeaturesCreated')
          expect(created).toMatchObject({ code: 0, stderr: '' })
          expect(created.stdout).toMatch(/^200 {2}attempt 1 {2}http:\S+ {2}\d+ ms\n$/)
          await listener.printed(/verified +200 {2}FeaturesCreated {2}Parcels \/ edits 0 /)
          await mock.printed(/200 {2}attempt 1 {2}http/)

          const job = ['trigger', 'Jobs/Analysis.GPServer', 'esriJobSucceeded', '--job-id', 'j42', '--json']
          const { attempts } = JSON.parse((await geohook(...job)).stdout) as { attempts: object[] }
          expect(attempts).toEqual([
            expect.objectContaining({ number: 1, status: 200, milliseconds: expect.any(Number) }),
          ])
          await listener.printed(/verified +200 {2}esriJobSucceeded {2}Analysis \/ jobs /)

          const edited = await geohook(
            'edit',
            PARCELS,
            'edits 0',
            '--name',
            'renamed',
            '--change-types',
            'FeaturesUpdated',
          )
          expect(edited.stdout).toMatch(
            /^edited renamed \(w0\)\n.*\n {2}changeTypes {2}FeaturesUpdated\n.*true\n.*as it was\n$/,
          )
          expect((await geohook('trigger', PARCELS, 'FeaturesCreated')).stdout).toBe(
            'no webhook is subscribed to this event\n',
          )
          expect((await geohook('trigger', PARCELS, 'FeaturesUpdated')).code).toBe(0)
          await mock.printed(/edited {2}renamed of Parcels\.FeatureServer/)

          const changed = await geohook('edit', PARCELS, 'w0', '--key', 'another', '--json')
          expect(JSON.parse(changed.stdout)).toMatchObject({ id: 'w0', name: 'renamed', signatureKey: '***' })
          // The listener does not know the new key.
          expect(await geohook('trigger', PARCELS, 'FeaturesUpdated')).toMatchObject({ code: 1 })

          const deleted = await geohook('delete', PARCELS, 'renamed')
          expect(deleted).toEqual({ code: 0, stdout: 'deleted renamed (w0)\n', stderr: '' })
          expect((await geohook('list', PARCELS)).stdout).toBe('there are no webhooks\n')
          expect(
            JSON.parse((await geohook('delete', 'Jobs/Analysis.GPServer', '--all', '--json')).stdout),
          ).toEqual({
            deleted: [expect.any(String)],
          })
          expect(await geohook('list', '--url', `${url}/`)).toMatchObject({ code: 0 })
        })
        expect(mock.output).not.toContain(KEY)
        expect(await mock.exited).toBe(0)
      },
      options,
    )
  })

  it('edit sends every option, and a schedule', async () => {
    await withMock(['--seed', seedFile(seedFor(await unusedUrl()))], async ({ geohook }) => {
      const schedule = '{"recurrenceInfo":{"interval":7,"frequency":"minute"}}'
      const args = ['--hook-url', 'http://127.0.0.1:9/x', '--active', 'false', '--payload-format', 'pjson']
      const more = ['--content-type', 'application/x-www-form-urlencoded', '--schedule', schedule, '--json']
      const { stdout, code } = await geohook('edit', PARCELS, 'w0', ...args, ...more)
      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({
        name: 'edits 0',
        changeTypes: ['FeaturesCreated'],
        hookUrl: 'http://127.0.0.1:9/x',
        active: false,
        payloadFormat: 'pjson',
        contentType: 'application/x-www-form-urlencoded',
        scheduleInfo: { recurrenceInfo: { interval: 7, frequency: 'minute' } },
        signatureKey: '***',
      })
    })
  })

  it('say no, with the exit code 1 and what the service said', async () => {
    const args = ['--seed', seedFile(seedFor(await unusedUrl())), '--always200']
    await withMock(args, async ({ geohook }) => {
      const cases: [string[], RegExp][] = [
        [['list', 'Nothing.FeatureServer'], /^error: the service answered 404 for \/services\/Nothing/],
        [['edit', PARCELS, 'nothing', '--name', 'x'], /^error: webhook nothing not found\n"geohook list"/],
        [
          ['edit', PARCELS, 'w0', '--payload-format', 'json', '--change-types', ''],
          /^error: the service answered 400 .*changeTypes/,
        ],
        [['delete', PARCELS, 'w0', 'nothing'], /^error: webhook nothing not found\n/],
        [
          ['trigger', 'Nothing.FeatureServer', 'x'],
          /^error: the service answered 4\d\d for \/_mock\/trigger: .*no service/,
        ],
      ]
      for (const [line, message] of cases) {
        const ran = await geohook(...line)
        expect(ran).toMatchObject({ code: 1, stdout: '' })
        expect(ran.stderr).toMatch(message)
      }
      // One that is not there, and none is deleted.
      expect((await geohook('list', PARCELS)).stdout).toContain('w0')
      // Nobody listens at the webhook's address.
      const failed = await geohook('trigger', PARCELS, 'FeaturesCreated')
      expect(failed).toMatchObject({ code: 1, stderr: '' })
      expect(failed.stdout).toMatch(/^--- {2}attempt 1 {2}http:\S+ {2}\d+ ms {2}.*ECONNREFUSED/)
      expect(await geohook('trigger', PARCELS, 'FeaturesCreated', '--no-wait')).toMatchObject({
        code: 0,
        stdout: 'triggered\n',
      })
    })
  })

  it('end with 3 where there is no service, and with 1 where something else answers', async () => {
    const url = await unusedUrl()
    for (const line of [
      ['list'],
      ['edit', PARCELS, 'x', '--name', 'y'],
      ['delete', PARCELS, 'x'],
      ['trigger', PARCELS, 'x'],
    ]) {
      const ran = await geohook([...line, '--url', url, '--json'])
      expect(ran).toMatchObject({ code: 3, stdout: '' })
      expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: 'unreachable' } })
    }
    await withTarget(async (target) => {
      const ran = await geohook(['list', '--url', target.url])
      expect(ran).toMatchObject({ code: 1, stdout: '' })
      expect(ran.stderr).toMatch(/answered 200, but not as a service does\nIs it the base address/)
    })
  })

  it.each([
    ['edit without a change', ['edit', PARCELS, 'x'], /there is nothing to change/],
    [
      'edit with a schedule that is none',
      ['edit', PARCELS, 'x', '--schedule', '[]'],
      /--schedule must be a JSON object/,
    ],
    ['delete without names', ['delete', PARCELS], /either the webhooks to delete or --all/],
    [
      'delete with names and --all',
      ['delete', PARCELS, 'x', '--all'],
      /either the webhooks to delete or --all/,
    ],
    ['a service without its type', ['list', 'Parcels'], /give it as Parcels\.FeatureServer/],
    ['a layer that is none', ['trigger', PARCELS, 'x', '--layer', '-1'], /--layer <n>: give a whole number/],
    ['an empty token', ['list', '--token', ''], /the token in --token is empty/],
    ['a token of two lines', ['list', '--token', 'a\r\nb: c'], /cannot be written/],
  ])('%s is wrong usage', async (_, line, message) => {
    const ran = await geohook(line)
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toMatch(message)
  })

  it('asks for a token of a user, and takes it from each place without showing it', async () => {
    const users = [{ username: 'alice', password: 'wonderland', privileges: ['features'] }]
    const args = ['--users', seedFile(users), '--seed', seedFile(seedFor(await unusedUrl()))]
    await withMock(args, async ({ url, geohook: run }) => {
      const refused = await run('list', PARCELS)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(/answered 499 .*--token-file/s)
      const form = new URLSearchParams({ username: 'alice', password: 'wonderland', f: 'json' })
      const answer = await fetch(`${url}/generateToken`, { method: 'POST', body: form })
      const { token } = (await answer.json()) as { token: string }
      const file = folder.file('token.txt', `${token}\n`)
      for (const [given, env] of [
        [['--token', token], {}],
        [['--token-file', file], {}],
        [[], { GEOHOOK_TOKEN: token }],
        [['--token-env', 'OTHER'], { OTHER: token }],
      ] as [string[], Record<string, string>][]) {
        const ran = await geohook(['list', PARCELS, '--url', url, ...given], { env })
        expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('edits 0') })
        expect(ran.stdout + ran.stderr).not.toContain(token)
      }
      const wrong = await run('list', PARCELS, '--token', 'secretnonsense')
      expect(wrong.stderr).toMatch(/answered 498 /)
      expect(wrong.stderr).not.toContain('secretnonsense')
      expect(await run('delete', 'Jobs/Analysis.GPServer', '--all', '--token', token)).toMatchObject({
        code: 1,
      })
    })
  })
})

describe.concurrent('geohook mock', () => {
  it('has two services without a seed, prints lines of JSON, and ends with 0', async () => {
    const mock = await withMock(['--json'], async ({ geohook }) => {
      expect((await geohook('trigger', 'Analysis.GPServer', 'esriJobFailed')).code).toBe(0)
    })
    expect(await mock.exited).toBe(0)
    expect(JSON.parse(mock.stdout)).toEqual({ event: 'listening', url: expect.stringMatching(/^http:/) })
  })

  it('tells each attempt and change as a line of JSON, and nothing with --quiet', () =>
    withTarget(async ({ url }) => {
      const seed = seedFile(seedFor(url))
      const use = async ({ geohook }: Mock): Promise<void> => {
        await geohook('trigger', PARCELS, 'FeaturesCreated')
        await geohook('delete', PARCELS, 'w0')
      }
      const told = await withMock(['--seed', seed, '--json'], use)
      const [, attempt, webhook] = told.stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
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
      expect(told.stdout).not.toMatch(/signature/i)
      const quiet = await withMock(['--seed', seed, '--quiet'], use)
      expect(quiet.stdout).toMatch(/^mock service on .*\n$/)
    }))

  it('behaves like the version and the dialect that it is told', () =>
    withTarget(async ({ url, requests }) => {
      const args = ['--service-version', '11.1', '--seed', seedFile(seedFor(url))]
      await withMock(args, async ({ geohook }) => {
        expect((await geohook('list')).code).toBe(1) // the whole site is listed from 11.2
        expect((await geohook('trigger', PARCELS, 'FeaturesCreated')).code).toBe(0)
        expect(requests[0]?.headers['x-service']).toBeUndefined()
      })
      await withMock(['--dialect', 'hosted', '--seed', seedFile(seedFor(url))], async ({ geohook }) => {
        await geohook('trigger', PARCELS, 'FeaturesCreated')
        expect(requests[1]?.headers['x-esrihook-signature']).toMatch(/^sha256=/)
      })
    }))

  it.each([
    ['a seed that is not there', ['--seed', 'nowhere.json'], /cannot read nowhere\.json/],
    ['a seed that is a list', ['--seed', seedFile([])], /seed-\d+\.json: a seed must be an object/],
    ['a seed with an unknown member', ['--seed', seedFile({ hooks: [] })], /seed-\d+\.json: .*hooks/],
    ['a seed with a bad address', ['--seed', seedFile(seedFor('ftp://x'))], /seed-\d+\.json: .*hookUrl/],
    [
      'a seed with a key with white space',
      [
        '--seed',
        seedFile({
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
      'a state that is half written',
      ['--state', folder.file('half.json', '{"webhooks":[{"signatureKey":"parcels2026"')],
      /half\.json is not JSON/,
    ],
    [
      'a state that is none',
      ['--state', folder.file('none.json', '{"webhooks":{}}')],
      /none\.json: .*webhooks/,
    ],
    [
      'a state in no folder',
      ['--state', join(folder.path, 'no', 'state.json')],
      /cannot write the state file .*ENOENT/,
    ],
    [
      'users that are none',
      ['--users', folder.file('users.json', '[{"username":"a","password":1}]')],
      /users\.json: .*password/,
    ],
    [
      'an unknown version',
      ['--service-version', '10'],
      /--service-version <version>: Allowed choices are 11\.1/,
    ],
  ])('refuses %s with the exit code 2', async (_, args, message) => {
    const before =
      args[0] === '--state' && args[1]?.endsWith('half.json') ? readFileSync(args[1], 'utf8') : undefined
    const { code, stdout, stderr } = await geohook(['mock', '--port', '0', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain(KEY)
    if (before !== undefined) expect(readFileSync(args[1] ?? '', 'utf8')).toBe(before)
  })

  it('says when the port is in use', () =>
    withTarget(async ({ url }) => {
      const ran = await geohook(['mock', '--port', new URL(url).port])
      expect(ran).toMatchObject({ code: 2, stdout: '' })
      expect(ran.stderr).toMatch(/^error: port \d+ of 127\.0\.0\.1 is in use\n/)
    }))
})
