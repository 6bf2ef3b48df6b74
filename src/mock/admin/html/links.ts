import type { Address } from '../paths.ts'
import { type Link, type Site, webhookHref, webhooksHref } from './layout.ts'

/** Links from a page to the pages above it. */
export function linksOf(
  root: string,
  address: Address | undefined,
  id: string | undefined,
  site: Site,
): Link[] {
  const links: Link[] = site.hasInspector ? [[root || './', 'Inspector']] : []
  if (site.hasSiteList) {
    links.push(
      [`${root}services/webhooks`, 'All webhooks'],
      [`${root}services/webhooks/settings`, 'Settings'],
    )
  }
  if (address?.scope !== 'service') return links
  links.push([webhooksHref(root, address.service), address.service])
  if (id === undefined) return links
  const href = webhookHref(root, address.service, id)
  links.push([href, 'Webhook'])
  if (site.hasSiteList) links.push([`${href}/notificationStatus`, 'Failures'])
  return links
}
