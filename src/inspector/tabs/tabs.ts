import { attempts } from './attempts.ts'
import { body } from './body.ts'
import { curl } from './curl.ts'
import { events } from './events.ts'
import { headers } from './headers.ts'
import { overview } from './overview.ts'
import { signature } from './signature.ts'
import type { Tab } from './tab.ts'

/** The tabs of a delivery, in the order of their links. */
export const TABS: readonly Tab[] = [overview, body, headers, events, signature, attempts, curl]
