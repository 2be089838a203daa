import { Alert, Stack } from "@mantine/core"
import { useState } from "react"
import type { ApiChange } from "../../api/api-change.ts"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { curlOfChange } from "../../parts/copy-command.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { PagesForm } from "./pages-form.tsx"
import { Problems } from "./problems.tsx"

type Pages = Schema<"TextingPages">

interface PagesProps {
  readonly pages: Pages
  /** When the pages passed their check; null for never. */
  readonly passedAt: string | null
  readonly mayPrepare: boolean
}

/** The API call that saves the pages. */
const EXAMPLE: ApiChange = {
  method: "PUT",
  path: "/api/v1/phone/pages",
  body: {
    mode: "hosted",
    services: "appointments and repairs",
    offers: true,
    offersPerMonth: 4,
    optinPhone: false,
    optinPaper: false,
    supportPhone: "+14155550100",
    supportEmail: "help@acme.example",
  },
}

/** The second step: the pages for consent, terms and privacy. */
export function PagesSection({ pages, passedAt, mayPrepare }: PagesProps) {
  const [check, setCheck] = useState<Schema<"PagesCheck"> | null>(null)
  const isSaved = pages.mode !== null
  return (
    <Section
      title="2. Pages"
      description="The pages for consent, terms and privacy: hosted here, or on your own site."
      actions={
        mayPrepare ? (
          <>
            <PagesForm pages={pages} />
            {isSaved ? <CheckNow onChecked={setCheck} /> : null}
          </>
        ) : undefined
      }
    >
      <Stack>
        {check === null ? null : <CheckResult check={check} />}
        {isSaved ? (
          <SavedPages pages={pages} passedAt={passedAt} />
        ) : (
          <EmptyState
            title="No pages saved"
            description="Hosted pages are created from your entries; your own pages are checked. Programs save them with:"
            command={curlOfChange(EXAMPLE)}
          />
        )}
      </Stack>
    </Section>
  )
}

function CheckNow({ onChecked }: { readonly onChecked: (check: Schema<"PagesCheck">) => void }) {
  return (
    <ApiCallButton<Record<string, never>, Schema<"PagesCheck">>
      label="Check now"
      title="Check the pages"
      description="Reads the pages as a reviewer does, and shows what would be rejected."
      changeOf={() => ({ method: "POST", path: "/api/v1/phone/pages/check" })}
      submitLabel="Check"
      successMessage={({ passed }) =>
        passed ? "The pages passed." : "A reviewer would reject the pages."
      }
      onDone={onChecked}
    />
  )
}

const PAGE_LABELS = { texts: "Consent", terms: "Terms", privacy: "Privacy" } as const

const DOMAIN_MESSAGES: Readonly<Record<string, string>> = {
  not_connected: "The host name is not under a connected domain.",
  waiting_dns: "The host name does not lead here yet.",
  waiting_certificate: "The host name was not opened with https yet.",
  failed: "The host name no longer leads here.",
}

function CheckResult({ check }: { readonly check: Schema<"PagesCheck"> }) {
  const { passed, problems, domainStatus, domainError } = check
  const ofDomain = domainStatus === null ? undefined : DOMAIN_MESSAGES[domainStatus]
  if (passed && ofDomain === undefined) {
    return (
      <Alert color="green" variant="light" title="The pages passed">
        A reviewer would accept the pages.
      </Alert>
    )
  }
  const pageProblems = problems.map(({ page, message }) => ({ where: PAGE_LABELS[page], message }))
  const domain =
    ofDomain === undefined ? [] : [{ where: "Host name", message: domainError ?? ofDomain }]
  return <Problems title="A reviewer would reject" problems={[...pageProblems, ...domain]} />
}

function SavedPages({
  pages,
  passedAt,
}: {
  readonly pages: Pages
  readonly passedAt: string | null
}) {
  const urls = pages.liveUrls ?? pages.previewUrls
  const isPreview = pages.liveUrls === null
  return (
    <DetailList
      items={[
        ["Hosting", pages.mode === "hosted" ? "Hosted pages" : "Your own site"],
        ["Host name", pages.hostname],
        [
          "Check",
          passedAt === null ? (
            <StatusBadge key="check" tone="quiet">
              Not passed
            </StatusBadge>
          ) : (
            <span key="check">
              <StatusBadge tone="good">Passed</StatusBadge> <Time at={passedAt} />
            </span>
          ),
        ],
        ["Topics of texts", pages.services],
        ["Offers", pages.offers === true ? `Up to ${pages.offersPerMonth} a month` : "None"],
        ["Support", `${pages.supportEmail}, ${phoneText(pages.supportPhone)}`],
        ...Object.entries(PAGE_LABELS).map(
          ([name, word]) =>
            [
              isPreview ? `${word} (preview)` : word,
              <WebLink key={name} address={urls?.[name as keyof typeof PAGE_LABELS] ?? null} />,
            ] as const,
        ),
      ]}
    />
  )
}
