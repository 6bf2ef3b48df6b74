import { expect } from 'vitest'

/** More than any home of the tests has. */
const MAX_PAGES = 400

/**
 * Opens every page that links lead to, from the start page on, and fails if one of them contains a secret. Keys and
 * right signatures must be on no page, whatever it shows.
 *
 * @param url of an inspector, without a slash at its end
 * @returns the paths of the pages
 */
export async function expectNoSecrets(url: string, secrets: readonly string[]): Promise<string[]> {
  const { origin, pathname } = new URL(url)
  const found = new Set([`${url}/`])
  const paths: string[] = []
  for (const page of found) {
    const response = await fetch(page)
    const text = await response.text()
    const all = [...response.headers].join('\n') + decodeEntities(text)
    for (const secret of secrets) expect(all.includes(secret), `a secret on ${page}`).toBe(false)
    paths.push(page.slice(url.length))
    if (!String(response.headers.get('content-type')).includes('html')) continue
    for (const [, href = ''] of text.matchAll(/<a[^>]* href="([^"]*)"/g)) {
      const link = new URL(decodeEntities(href), page)
      link.hash = ''
      const isOwn = link.origin === origin && link.pathname.startsWith(pathname === '/' ? '/' : pathname)
      if (isOwn && found.size < MAX_PAGES) found.add(link.href)
    }
  }
  return paths
}

const decodeEntities = (text: string): string =>
  text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&')
