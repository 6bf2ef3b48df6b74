// The list of deliveries.

import { find, markCurrent, morph, update } from './page.js'

const MAX_ROWS = 1000

/** @param {Element} row */
const idOf = (row) => row.getAttribute('data-id') ?? ''
/** @param {Element | null} row */
const timeOf = (row) => row?.querySelector('time')?.dateTime ?? ''

/**
 * Changes the list, and keeps the rows where the user sees them. Not every browser does that itself.
 *
 * @param {() => void} change
 */
export function keepPosition(change) {
  const list = find('list')
  const { left = 0, top = 0 } = list?.getBoundingClientRect() ?? {}
  const row = list?.scrollTop ? document.elementFromPoint(left + 20, top + 1)?.closest('li') : undefined
  const before = row?.getBoundingClientRect().top ?? 0
  change()
  if (list && row?.isConnected) list.scrollTop += row.getBoundingClientRect().top - before
}

/**
 * Adds, replaces and removes rows.
 *
 * @param {{ rows: { id: string, html: string }[], removed: string[], summary?: string }} changes
 */
export function showChanges({ rows, removed, summary }) {
  const list = find('rows')
  if (!list) return
  const known = new Map([...list.children].map((row) => [idOf(row), row]))
  for (const { id, html } of rows.reverse()) {
    const template = document.createElement('template')
    template.innerHTML = html
    const row = template.content.firstElementChild
    const old = known.get(id)
    if (!row) continue
    if (old) morph(old, row)
    else {
      let next = list.firstElementChild
      while (next && timeOf(next) > timeOf(row)) next = next.nextElementSibling
      list.insertBefore(row, next)
    }
    markCurrent((old ?? row).children)
  }
  for (const id of removed) known.get(id)?.remove()
  while (list.children.length > MAX_ROWS) list.lastElementChild?.remove()
  const [empty, counts] = [find('empty'), find('summary')]
  if (empty) empty.hidden = list.children.length > 0
  if (counts && summary !== undefined) counts.innerHTML = summary
}

/** Makes the list equal to that of another page. @param {Document} page */
export function updateList(page) {
  const [list, next] = [find('rows'), page.getElementById('rows')]
  if (!list || !next) return
  const rows = [...next.children]
  const ids = new Set(rows.map(idOf))
  for (const row of [...list.children]) if (!ids.has(idOf(row))) row.remove()
  const known = new Map([...list.children].map((row) => [idOf(row), row]))
  let position = list.firstElementChild
  for (const row of rows) {
    const old = known.get(idOf(row))
    if (old && old === position) {
      position = old.nextElementSibling
      if (!old.isEqualNode(row)) morph(old, row)
    } else {
      old?.remove()
      list.insertBefore(row, position)
    }
  }
  update(page, ['summary', 'empty', 'more'])
}
