// Panes and filters without reloading the page. Both are in the address.

import { connect } from './live.js'
import { fetchPage, find, markCurrent, PANE_ONLY } from './page.js'

/** Path and query of the page that the pane shows; the filters only change what the list shows. */
let shown = location.pathname + location.search

/**
 * Shows a page in the pane, and moves the focus there.
 *
 * @param {string} url
 */
async function show(url) {
  const page = await fetchPage(url, PANE_ONLY).catch(() => undefined)
  if (location.href !== url) return
  const next = page?.getElementById('pane')
  if (!page || !next) return location.reload() // the whole page is an error or the login
  shown = location.pathname + location.search
  find('pane')?.replaceWith(next)
  document.title = page.title
  document.querySelector('.panes')?.setAttribute('class', page.querySelector('.panes')?.className ?? '')
  markCurrent()
  scrollTo(0, history.state?.scroll ?? 0)
  next.focus({ preventScroll: true })
}

/** @param {string} url */
function open(url) {
  history.replaceState({ scroll: scrollY }, '')
  history.pushState(null, '', url)
  show(location.href)
}

addEventListener('popstate', () => {
  if (location.pathname + location.search === shown) return // a link to a part of this page
  if (restoreFilters()) connect()
  show(location.href)
})

document.addEventListener('click', (event) => {
  const target = /** @type {Element} */ (event.target)
  const link = target.closest('a')
  if (!link?.href || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    return
  if (link.origin !== location.origin || link.hash || link.hasAttribute('download')) return
  if (!link.closest('#rows, #panels, #pane')) return
  event.preventDefault()
  open(link.href)
})

document.addEventListener('submit', (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target)
  if (form.method !== 'get') return
  const fields = [...new FormData(form)].map(([name, value]) => [name, String(value)])
  if (form.id === 'filters') applyFilters()
  else if (form.closest('#pane')) open(`${form.action}?${new URLSearchParams(fields)}`)
  else return
  event.preventDefault()
})

/** @returns {NodeListOf<HTMLInputElement | HTMLSelectElement>} */
const filterFields = () => document.querySelectorAll('#filters [name]')

/** Shows the filters of the address. @returns true if they have changed */
function restoreFilters() {
  const query = new URLSearchParams(location.search)
  let hasChanged = false
  for (const field of filterFields()) {
    const value = query.get(field.name) ?? ''
    if (field.value !== value) hasChanged = true
    field.value = value
  }
  return hasChanged
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing

/** Puts the filters into the address, and loads the list and the links of the pane with them. */
function applyFilters() {
  clearTimeout(typing)
  const url = new URL(location.href)
  url.searchParams.delete('after')
  for (const { name, value } of filterFields()) {
    url.searchParams.delete(name)
    if (value !== '') url.searchParams.set(name, value)
  }
  if (url.href === location.href) return
  history.replaceState(history.state, '', url)
  connect()
}
find('filters')?.addEventListener('change', applyFilters)
find('filters')?.addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(applyFilters, 300)
})
