import type { ServiceVersion } from '../../versions.ts'
import type { ResponseName } from '../operation.ts'
import type { Address } from '../paths.ts'

/** What a page is about. */
export interface View {
  address: Address
  /** The id of the webhook that the path names. */
  id?: string | undefined
  response: ResponseName
  body: object
  /** From this page to where `services` begins: `../` for each step up. */
  root: string
  site: Site
}

/** What is the same for all pages. */
export interface Site {
  version: ServiceVersion
  omitted: 'keep' | 'reset'
  hasTokens: boolean
  /** Whether there is a list of the whole site. */
  hasList: boolean
}

/** From a path to where it begins. */
export const rootOf = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 2))

/** The webhooks of a service. A link from page to page, so that it holds wherever the mock service is mounted. */
export const webhooksHref = (root: string, service: string): string =>
  `${root}services/${service.split('/').map(encodeURIComponent).join('/')}/webhooks`

/** One webhook of a service. */
export const webhookHref = (root: string, service: string, id: string): string =>
  `${webhooksHref(root, service)}/${encodeURIComponent(id)}`
