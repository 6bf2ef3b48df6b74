import type { Context } from '../html/context.ts'
import type { Html } from '../html/template.ts'
import type { Item } from '../source.ts'

/** One view of a delivery. A new tab is one file, and an entry in `tabs.ts`. */
export interface Tab {
  /** Last segment of its path; empty for the first tab. */
  readonly name: string
  readonly title: string
  render(item: Item, context: Context): Html | Promise<Html>
}
