// The parts of the page, and how they are updated.

/** Path at which the inspector is mounted. */
export const base = document.body.dataset.base ?? ''
/** Headers of a request for a page without the list. */
export const PANE_ONLY = { 'geohook-part': 'pane' }

/** @param {string} id */
export const find = (id) => document.getElementById(id)

/**
 * Makes an element equal to another one. Whatever is equal already stays, and with it the focus, scroll positions,
 * inputs and selected text.
 *
 * @param {Element} old
 * @param {Element} next
 */
function morph(old, next) {
  const chosen = old instanceof HTMLSelectElement ? old.value : undefined
  for (const { name } of [...old.attributes])
    if (name !== 'open' && !next.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of next.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  const nodes = [...next.childNodes]
  while (old.childNodes.length > nodes.length) old.lastChild?.remove()
  for (const [index, node] of nodes.entries()) {
    const known = old.childNodes[index]
    if (!known) old.append(node)
    else if (known.isEqualNode(node)) continue
    else if (known instanceof Element && node instanceof Element && known.tagName === node.tagName)
      morph(known, node)
    else known.replaceWith(node)
  }
  if (old instanceof HTMLSelectElement && [...old.options].some(({ value }) => value === chosen))
    old.value = chosen ?? ''
}

/**
 * Fetches a page of the inspector.
 *
 * @param {string} url
 * @param {HeadersInit} [headers]
 * @returns {Promise<Document | undefined>} undefined for an error or the login page
 * @throws the message of the page if the store is unreachable
 */
export async function fetchPage(url, headers = {}) {
  const response = await fetch(url, { headers })
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  if (response.status === 503) throw new Error(page.querySelector('main p')?.textContent ?? '')
  return response.ok && page.querySelector('.panes') ? page : undefined
}

/** @param {Document} page @param {readonly string[]} ids */
export function update(page, ids) {
  for (const id of ids) {
    const [old, next] = [find(id), page.getElementById(id)]
    if (old && next && !(id === 'filters' && old.matches(':focus-within'))) morph(old, next)
  }
  // A restarted inspector has another secret. Without it, an edited form could not be submitted.
  const secret = page.querySelector('[name=form-secret]')?.getAttribute('value')
  if (secret)
    for (const input of document.querySelectorAll('[name=form-secret]')) input.setAttribute('value', secret)
}

/**
 * Makes the list equal to that of another page, and keeps the rows where the user sees them. Not every browser does
 * that itself.
 *
 * @param {Document} page
 */
export function updateList(page) {
  const list = find('list')
  const { left = 0, top = 0 } = list?.getBoundingClientRect() ?? {}
  const row = list?.scrollTop ? document.elementFromPoint(left + 20, top + 1)?.closest('li') : undefined
  const before = row?.getBoundingClientRect().top ?? 0
  updateRows([...(page.getElementById('rows')?.children ?? [])])
  update(page, ['summary', 'empty', 'more'])
  if (list && row?.isConnected) list.scrollTop += row.getBoundingClientRect().top - before
}

/** @param {readonly Element[]} rows */
function updateRows(rows) {
  const list = find('rows')
  if (!list) return
  const idOf = (/** @type {Element} */ row) => row.getAttribute('data-id')
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
}

/** Updates the pane, unless the user is filling in a form. @param {Document} page */
export function updatePane(page) {
  const [pane, next] = [find('pane'), page.getElementById('pane')]
  if (!pane || !next || pane.querySelector('.field')) return
  const notice = pane.querySelector('.notice')
  if (notice && !next.querySelector('.notice')) next.prepend(notice.cloneNode(true), '\n')
  morph(pane, next)
  document.title = page.title
}

/** Marks the links to the shown delivery or panel. */
export function markCurrent() {
  for (const link of document.querySelectorAll('#rows a, #panels a')) {
    const { pathname } = /** @type {HTMLAnchorElement} */ (link)
    if (location.pathname === pathname || location.pathname.startsWith(`${pathname}/`))
      link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

export const isStart = () => location.pathname === `${base}/`
/** Id of the shown delivery. */
export const shownId = () => decodeURIComponent(location.pathname.slice(base.length).split('/')[2] ?? '')
