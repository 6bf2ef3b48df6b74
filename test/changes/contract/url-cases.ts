import { expect } from 'vitest'
import { FAST, TOKEN, toEvent } from '../support.ts'
import type { Case } from './case.ts'
import { DOCUMENT, redirect, startHostile } from './hostile-server.ts'
import type { Start, Used } from './subject.ts'

const GATE = 'https://gis.example.com'

const extract = (use: Start, origins: string[], changesUrl: string): Promise<Used> =>
  use({
    options: { origins, pollInterval: FAST, timeout: 5000 },
    tokens: [TOKEN],
    events: [toEvent(changesUrl)],
  })

const REFUSED = { code: 'changes_url_refused', hint: expect.stringMatching(/No request was sent|redirect/) }

/** URLs of other servers than the allowed one; PORT is that of a server that collects what it gets. */
const FOREIGN = [
  'http://127.0.0.1:PORT/FeatureServer',
  'http://gis.example.com/FeatureServer',
  'https://gis.example.com:8443/FeatureServer',
  'https://gis.example.com@127.0.0.1:PORT/FeatureServer',
  'https://gis.example.com:x@127.0.0.1:PORT/FeatureServer',
  'https://user:password@gis.example.com/FeatureServer',
  'https://@gis.example.com/FeatureServer',
  'https:///user:password@gis.example.com/FeatureServer',
  'https:/user:password@gis.example.com/FeatureServer',
  'https:user:password@gis.example.com/FeatureServer',
  'https://gis.example.com\\@127.0.0.1:PORT/FeatureServer',
  'https:\\\\gis.example.com/FeatureServer',
  'https://gis.example.com\t.evil.example/FeatureServer',
  ' https://gis.example.com/FeatureServer',
  'https://gis.example.com.evil.example/FeatureServer',
  'https://gis.example.com./FeatureServer',
  'https://gis.ex\u0430mple.com/FeatureServer', // a Cyrillic letter
  'https://g\u0131s.example.com/FeatureServer', // a dotless letter
  'https://xn--gis-example.com/FeatureServer',
  'https://gis.example.com%2eevil.example/FeatureServer',
  'https://gis.example.com%00.evil.example/FeatureServer',
  'http://localhost:PORT/FeatureServer',
  'http://[::ffff:127.0.0.1]:PORT/FeatureServer',
  'http://2130706433:PORT/FeatureServer',
  'http://0x7f.1:PORT/FeatureServer',
  '//gis.example.com/FeatureServer',
  'file:///etc/passwd',
  'data:application/json,{}',
  'javascript:alert(1)',
  'gis.example.com/FeatureServer',
  '',
]

/** The step whose answer has the URL. */
const STEPS = ['statusUrl', 'resultUrl'] as const

export const URL_CASES: readonly Case[] = [
  ...FOREIGN.map((foreign) => ({
    name: `refuses the changesUrl ${JSON.stringify(foreign)}`,
    async run(use: Start) {
      const collector = await startHostile()
      const url = foreign.replace('PORT', new URL(collector.origin).port)
      const used = await extract(use, [GATE], `${url}/extractChanges?serverGens=[1,2]`)
      expect(used).toMatchObject({ error: REFUSED, tokens: 0 })
      expect(collector.got).toEqual([])
    },
  })),
  ...STEPS.flatMap((step) =>
    FOREIGN.filter((url) => url !== '').map((foreign) => ({
      name: `refuses the ${step} ${JSON.stringify(foreign)}`,
      async run(use: Start) {
        const collector = await startHostile()
        const url = foreign.replace('PORT', new URL(collector.origin).port)
        const server = await startHostile(
          step === 'statusUrl'
            ? { extractChanges: { statusUrl: url } }
            : { status: { status: 'Completed', resultUrl: url } },
        )
        const used = await extract(use, [server.origin, GATE], server.event.changesUrl ?? '')
        expect(used.error).toMatchObject(REFUSED)
        expect(JSON.stringify(used.error)).not.toMatch(/password|secret/)
        expect(collector.got).toEqual([])
        expect(server.got).toHaveLength(step === 'statusUrl' ? 1 : 2)
      },
    })),
  ),
  ...['extractChanges', 'status'].map((name) => ({
    name: `does not follow a redirect of ${name} to another origin`,
    async run(use: Start) {
      const collector = await startHostile()
      const server = await startHostile({ [name]: redirect(`${collector.origin}/login`, 307) })
      const used = await extract(use, [server.origin], server.event.changesUrl ?? '')
      expect(used.error).toMatchObject(REFUSED)
      expect(collector.got).toEqual([])
    },
  })),
  {
    name: 'follows a redirect of the file to another origin, without the token, also back',
    async run(use) {
      const server = await startHostile({ again: DOCUMENT })
      const files = await startHostile({ file: redirect(`${server.origin}/again`) })
      const first = await startHostile({ file: redirect(`${files.origin}/file?signature=s`) })
      const used = await extract(use, [first.origin], first.event.changesUrl ?? '')
      expect(used.changes?.layers).toMatchObject([{ deletes: { ids: ['A'] } }])
      expect(first.got.map(({ all }) => all.includes(TOKEN))).toEqual([true, true, true])
      expect([...files.got, ...server.got].map(({ all }) => all.includes(TOKEN))).toEqual([false, false])
    },
  },
  {
    name: 'sends the token in no URL',
    async run(use) {
      const server = await startHostile()
      await extract(use, [server.origin], server.event.changesUrl ?? '')
      expect(server.got.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'POST /rest/services/Parcels/FeatureServer/extractChanges',
        'POST /status',
        'GET /file',
      ])
      for (const { all } of server.got) expect(all.split(' ')[0]).not.toContain(TOKEN)
    },
  },
  {
    name: 'keeps the token at redirects within the origin, at most 4',
    async run(use) {
      const chain = Object.fromEntries(
        [0, 1, 2, 3, 4].map((n) => [`r${n}`, redirect(`/${n === 0 ? 'last' : `r${n - 1}`}`)]),
      )
      const server = await startHostile({ ...chain, last: DOCUMENT, extractChanges: redirect('/r2') })
      const used = await extract(use, [server.origin], server.event.changesUrl ?? '')
      expect(used.changes?.layers).toHaveLength(1)
      expect(server.got.map(({ method, all }) => [method, all.includes(TOKEN)])).toEqual(
        Array(5).fill(['POST', true]),
      )
      const longer = await startHostile({ ...chain, last: DOCUMENT, extractChanges: redirect('/r3') })
      expect(await extract(use, [longer.origin], longer.event.changesUrl ?? '')).toMatchObject({
        error: { code: 'changes_url_refused', message: expect.stringContaining('more than 4 times') },
      })
      expect(longer.got).toHaveLength(5)
    },
  },
  ...['http://gis.example.com/file', 'https://a:b@gis.example.com/', 'file:///etc/passwd', 'http://['].map(
    (location) => ({
      name: `does not follow a redirect of the file to ${JSON.stringify(location)}`,
      async run(use: Start) {
        const server = await startHostile({ file: redirect(location) })
        const used = await extract(use, [server.origin], server.event.changesUrl ?? '')
        expect(used.error).toMatchObject({ code: 'changes_url_refused' })
      },
    }),
  ),
  {
    name: 'an error about a file that cannot be reached does not contain its signature',
    async run(use) {
      const files = await startHostile({ gone: (res) => res.destroy() })
      const server = await startHostile({ file: redirect(`${files.origin}/gone?signature=SIGNED`) })
      const { error } = await extract(use, [server.origin], server.event.changesUrl ?? '')
      expect(error).toMatchObject({ code: 'changes_unavailable' })
      expect(JSON.stringify(error)).not.toContain('SIGNED')
    },
  },
  {
    name: 'a token with a line break is not sent, and not part of the error',
    async run(use) {
      const server = await startHostile()
      const { error } = await use({
        options: { origins: [server.origin] },
        tokens: [`${TOKEN}\n`],
        events: [server.event],
      })
      expect(error).toMatchObject({ code: 'changes_token_rejected' })
      expect(JSON.stringify(error)).not.toContain(TOKEN)
      expect(server.got).toEqual([])
    },
  },
]
