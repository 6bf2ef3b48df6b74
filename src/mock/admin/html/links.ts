import type { Address } from '../paths.ts'
import { type Link, type Site, siteHref, webhookHref, webhooksHref } from './layout.ts'

/** Links from a page to the pages above it. */
export function linksOf(
  root: string,
  { family, service }: Address,
  id: string | undefined,
  site: Site,
): Link[] {
  const links: Link[] = site.hasInspector ? [[root || './', 'Inspector']] : []
  if (site.hasSiteList && family.site !== undefined) {
    const href = siteHref(root, family.site)
    links.push([href, 'All webhooks'], [`${href}/settings`, 'Settings'])
  }
  if (!service) return links
  links.push([webhooksHref(root, service.path, family), service.path])
  if (id === undefined) return links
  const href = webhookHref(root, service.path, id, family)
  links.push([href, 'Webhook'])
  if (site.hasSiteList) links.push([`${href}/notificationStatus`, 'Failures'])
  return links
}
