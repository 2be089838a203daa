import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from "@tanstack/react-router"
import { PAGES } from "./pages.ts"
import { ChooseCompany } from "./shell/choose-company.tsx"
import { NotFound } from "./shell/not-found.tsx"
import { CompanyShell } from "./shell/shell.tsx"
import { RequireSignIn } from "./shell/require-sign-in.tsx"
import { ErrorAlert } from "./parts/error-alert.tsx"
import { Loading } from "./parts/query-view.tsx"

const root = createRootRoute({ component: RequireSignIn, notFoundComponent: NotFound })

const home = createRoute({ getParentRoute: () => root, path: "/", component: ChooseCompany })

const company = createRoute({
  getParentRoute: () => root,
  path: "$company",
  component: CompanyShell,
})

const pages = PAGES.map(({ path, load }) =>
  createRoute({
    getParentRoute: () => company,
    path: path === "" ? "/" : path,
    // Filters are texts, as in the address.
    validateSearch: (search: Record<string, unknown>) => search as Record<string, string>,
    component: lazyRouteComponent(load),
    errorComponent: ({ error }) => (
      <ErrorAlert error={error instanceof Error ? error : new Error(String(error))} />
    ),
    pendingComponent: Loading,
  }),
)

export const router = createRouter({
  routeTree: root.addChildren([home, company.addChildren(pages)]),
  basepath: "/console",
  defaultPreload: "intent",
  // Filters stay texts: a number in the address is not converted.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(search as Record<string, string>).toString()
    return text === "" ? "" : `?${text}`
  },
})
