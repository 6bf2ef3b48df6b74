import { describe, expect, it } from 'vitest'
import { createFolder, geohook, withListener } from '../../helpers/cli.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { FORM_TYPE, JSON_TYPE, KEY } from '../../helpers/deliver.ts'

const folder = createFolder()
const env = { SIGNATURE_KEY: KEY }

/** The profile of `listen`, and options of `send`. The tests of geohook/testing sign in all other ways. */
const CASES: [profile: string, args: string[]][] = [
  ['service', []],
  ['service', ['--form', '--signature-in', 'field', '--form-payload', 'plain']],
  ['service', ['--percent-encoded', '--encoding', 'base64', '--prefix', 'sha256=']],
  ['arcgis', ['--profile', 'arcgis']],
  ['arcgis', ['--dialect', 'hosted', '--form']],
  ['portal', ['--profile', 'portal']],
  ['portal', ['--dialect', 'organization', '--form']],
]

describe.concurrent('geohook send', () => {
  it.each(['service', 'arcgis', 'portal'])(
    'writes what a receiver with the profile %s accepts, and with another key refuses',
    async (profile) => {
      await withListener(['--profile', profile, '--key', KEY], async (url) => {
        for (const [, args] of CASES.filter(([name]) => name === profile)) {
          const change = profile === 'portal' ? 'add' : 'FeaturesCreated'
          const send = (key: string) =>
            geohook(['send', '--to', url, '--change-type', change, ...args], { env: { SIGNATURE_KEY: key } })
          expect(await send(KEY), args.join(' ')).toMatchObject({
            code: 0,
            stdout: expect.stringMatching(/^200 /),
          })
          expect(await send('another'), args.join(' ')).toMatchObject({
            code: 1,
            stdout: expect.stringMatching(/^401 /),
          })
        }
      })
    },
  )

  it('puts the proof where the options say', () =>
    withTarget(
      async ({ url, requests }) => {
        const send = async (...args: string[]) => {
          const { code, stderr } = await geohook(['send', '--to', url, ...args], { env })
          expect([code, stderr]).toEqual([0, ''])
          const { headers, body } = requests.at(-1) as (typeof requests)[number]
          return { headers, text: body.toString() }
        }
        const hosted = ['--change-type', 'FeaturesCreated', '--dialect', 'hosted']
        const inHeader = await send(
          ...hosted,
          '--layer-id',
          '3',
          '--layer-id',
          '4',
          '--service-name',
          'Roads',
        )
        expect(inHeader.headers).toMatchObject({
          'content-type': JSON_TYPE,
          'x-esrihook-signature': expect.stringMatching(/^sha256=.{43}=$/),
        })
        expect(JSON.parse(inHeader.text)).toMatchObject([
          { layerId: 3, serviceName: 'Roads', events: ['FeaturesCreated'] },
          { layerId: 4 },
        ])
        const inField = await send(...hosted, '--form')
        expect(inField.headers).toMatchObject({ 'content-type': FORM_TYPE })
        expect(inField.headers).not.toHaveProperty('x-esrihook-signature')
        expect(inField.text).toMatch(/^payload=\[\{".*&x-esriHook-Signature=sha256%3d[^&]*$/)
        const organization = await send('--change-type', 'add', '--dialect', 'organization')
        expect(organization.headers).toMatchObject({ secret: KEY })
        expect(Object.keys(organization.headers).filter((name) => name.startsWith('x-'))).toEqual([])
        expect(JSON.parse(organization.text)).toMatchObject({ info: {}, events: [{ operation: 'add' }] })
        const file = await send(folder.file('a.json', '{"a":1}'), '--profile', 'portal')
        expect(file).toMatchObject({ headers: { secret: KEY }, text: '{"a":1}' })
        const job = await send(
          '--change-type',
          'done',
          '--service-type',
          'GPServer',
          '--folder',
          'land',
          '--payload-format',
          'pjson',
        )
        expect(job.text).toMatch(/^\{\n {2}"serviceType": "GPServer",/)
        expect(JSON.parse(job.text)).toMatchObject({ folderName: 'land', jobId: 'j0' })
      },
      { body: 'ok' },
    ))

  it('does not print a key that the receiver sends back', () =>
    withTarget(
      async ({ url }) => {
        const args = ['send', '--to', url, '--change-type', 'add', '--dialect', 'organization']
        for (const more of [[], ['--json']]) {
          const { stdout, stderr } = await geohook([...args, ...more], { env })
          expect(stdout + stderr).toContain('you sent ***')
          expect(stdout + stderr).not.toContain(KEY)
        }
      },
      { body: `you sent ${KEY}` },
    ))

  it.each<[string[], RegExp]>([
    [['--signature-in', 'field'], /--signature-in field requires --form/],
    [['--form-payload', 'plain'], /--form-payload requires --form/],
    [['--layer-id', '1'], /--layer-id requires --dialect hosted/],
    [['--dialect', 'organization', '--encoding', 'hex'], /--encoding contradicts the profile portal/],
    [['--profile', 'portal', '--signature-header', 'x-a'], /--signature-header contradicts/],
    [['--profile', 'portal', '--prefix', 'a'], /--prefix contradicts/],
    [['--profile', 'portal', '--percent-encoded'], /--percent-encoded contradicts/],
    [['--profile', 'portal', '--form', '--signature-in', 'header'], /--signature-in contradicts/],
    [['--dialect', 'hosted', '--service-type', 'GPServer'], /hosted dialect has no geoprocessing jobs/],
    [
      ['--dialect', 'hosted', '--layer-id', '1', '--layer-id', '1'],
      /layerIds must not contain a layer twice/,
    ],
    [['--layer-id', 'x'], /must be a whole number/],
  ])('refuses %j', async (args, message) => {
    const base = ['send', '--to', 'http://127.0.0.1:9/', '--change-type', 'FeaturesCreated']
    expect(await geohook([...base, ...args], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(message),
    })
  })

  it.each(['--payload-format json', '--service-name a', '--service-type GPServer', '--folder a'])(
    'refuses %s with a file',
    async (option) => {
      const file = folder.file('b.json', '{}')
      const args = ['send', file, '--to', 'http://127.0.0.1:9/', ...option.split(' ')]
      expect(await geohook(args, { env })).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/ requires --change-type/),
      })
    },
  )
})
