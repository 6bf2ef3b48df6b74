import { describe, expect, it } from 'vitest'
import { geohook, parseEvents, withMock } from '../../helpers/cli.ts'
import { seedFor, useJsonFiles } from '../../helpers/cli-seed.ts'
import { startTarget } from '../../helpers/target.ts'

const jsonFile = useJsonFiles()
const TRIGGER = ['trigger', 'Parcels.FeatureServer', 'FeaturesCreated']

describe.concurrent('geohook mock --like handshake', () => {
  it('reports a failed handshake and the events that are not sent, as does trigger', async () => {
    const target = await startTarget((res, { method }) => res.writeHead(method === 'GET' ? 405 : 200).end())
    const args = ['--seed', jsonFile(seedFor(target.url)), '--like', 'handshake=30m']
    const mock = await withMock(args, async ({ geohook }) => {
      const { code, stdout } = await geohook(...TRIGGER)
      expect(code).toBe(1)
      expect(stdout).toBe('no delivery was sent\nnot sent to w0: its handshake failed: status 405\n')
      const json = await geohook(...TRIGGER, '--json')
      expect([json.code, JSON.parse(json.stdout)]).toEqual([
        1,
        { attempts: [], notSent: [{ webhookId: 'w0', reason: 'status 405' }] },
      ])
    })
    expect(mock.stdout).toMatch(
      /handshake failed {2}edits 0 of Parcels\.FeatureServer: status 405; its deliveries are stopped/,
    )
    expect(mock.stdout).toMatch(
      /not sent {2}1 event to edits 0 of Parcels\.FeatureServer: its handshake failed: status 405/,
    )
    expect(target.requests.map(({ method }) => method)).toEqual(['GET'])
    const json = await withMock([...args, '--json'], async ({ geohook }) => void (await geohook(...TRIGGER)))
    const about = { webhookId: 'w0', name: 'edits 0', service: 'Parcels.FeatureServer' }
    expect(parseEvents(json).slice(1)).toEqual([
      { event: 'handshake', ...about, ok: false, reason: 'status 405' },
      { event: 'not_sent', ...about, events: 1, reason: 'status 405' },
    ])
    await target.close()
  })

  it('sends none with false', async () => {
    const target = await startTarget()
    await withMock(
      [
        '--seed',
        jsonFile(seedFor(target.url)),
        '--like',
        'online,defaultActive=true,window=false,handshake=false',
      ],
      async ({ geohook }) => {
        expect((await geohook(...TRIGGER)).code).toBe(0)
      },
    )
    expect(target.requests.map(({ method }) => method)).toEqual(['POST'])
    await target.close()
  })

  it.each([
    'Online',
    'handshake=59s',
    'handshake=8d',
    'handshake=often',
    'window=1d,window=2d',
    'window=all,window=30s',
    'enterprise,portal',
    'omitted=keep=x',
    'window=yes',
    'omited=keep',
    '__proto__=1',
    'online,,',
  ])('rejects --like %s', async (like) => {
    expect((await geohook(['mock', '--like', like])).code).toBe(2)
  })
})

describe.concurrent('geohook mock --like featuresEdited', () => {
  it.each([
    ['edited', 'FeaturesEdited'],
    ['precise', 'FeaturesCreated'],
  ])('%s sends %s to a webhook for FeaturesEdited', async (how, sent) => {
    const target = await startTarget()
    const seed = seedFor(target.url) as { webhooks: object[] }
    const webhooks = seed.webhooks.map((webhook) => ({ ...webhook, changeTypes: ['FeaturesEdited'] }))
    const args = ['--seed', jsonFile({ webhooks }), '--like', `featuresEdited=${how}`]
    await withMock(args, async ({ geohook }) => {
      expect((await geohook(...TRIGGER)).code).toBe(0)
    })
    expect(target.requests[0]?.body.toString()).toContain(`"eventType":"${sent}"`)
    await target.close()
  })
})
