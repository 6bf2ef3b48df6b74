import { checkReceiver } from 'geohook/check'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { always, checkListener, resultOf } from './receiver.ts'

// The evidence shows the first 120 characters of a body: with some of these lengths, only a part of the key.
it.each([80, 110, 115, 119, 470, 478])(
  'shows no part of the key after %d characters of a body',
  async (length) => {
    const report = await checkListener(always(401, 'x'.repeat(length) + KEY), { only: ['redirect'] })
    expect(resultOf(report, 'valid-json').evidence).toMatch(/: 401 in \d+ ms: x+\**…?$/)
    expect(JSON.stringify(report)).not.toContain(KEY)
  },
)

it('shows no secret of the query or of a header', async () => {
  const query = 'code=Qm9zdG9u'
  const { url } = await serve((req, res) =>
    always(308, String(req.headers.authorization), { location: `/other?${query}` })(req, res),
  )
  const report = await checkReceiver({
    url: `${url}/hook?${query}`,
    signatureKey: KEY,
    headers: { authorization: 'Bearer dG9rZW4tMTIz' },
    only: ['redirect'],
  })
  expect(resultOf(report, 'redirect').evidence).toMatch(
    /308 in \d+ ms: \*\*\*, location: \/other\?code=\*\*\*$/,
  )
  expect(JSON.stringify(report)).not.toMatch(/Qm9zdG9u|dG9rZW4tMTIz/)
})

it('shows no key in the location of a redirect', async () => {
  const report = await checkListener(always(308, '', { location: `/hook?key=${KEY}` }), {
    only: ['redirect'],
  })
  expect(resultOf(report, 'redirect').evidence).toContain('location: /hook?key=***')
  expect(JSON.stringify(report)).not.toContain(KEY)
})
