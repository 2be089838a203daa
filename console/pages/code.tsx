import { Select } from "@mantine/core"
import { useState } from "react"
import type { PushList, Ref, RepositoryDetails } from "../api/code-answers.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { DownloadButton } from "../parts/download.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { PushTable } from "../parts/push-table.tsx"
import { RefusedCodeError } from "../parts/refused-push.tsx"
import { ScrubSection } from "../parts/scrub-section.tsx"
import { UploadFileButton } from "../parts/upload-file-button.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { StatusBadge } from "../parts/status-badge.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 25

/** The company's repository: clone, upload, branches and pushes. */
export default function CodePage() {
  const mayRead = useCanRun("repository-show")
  const mayAdd = useCanRun("repository-upload")
  const found = useOperationQuery<RepositoryDetails>("repository-show", {}, mayRead)
  if (!mayRead && !mayAdd) {
    const permissions = ["Download and pull the code", "Push and upload code"]
    return <NoPermission title="Code" what="the code" permissions={permissions} />
  }
  return (
    <PageLayout
      title="Code"
      description="The company's git repository. Every push and upload is checked for secrets."
      actions={<Actions isEmpty={found.data?.refs.length === 0} />}
    >
      {mayRead ? (
        <QueryView query={found}>{(shown) => <RepositoryContent {...shown} />}</QueryView>
      ) : (
        <EmptyState
          title="You can add code, but not read it"
          description="You need the permission “Download and pull the code” to read it. Ask an owner or admin for it."
        />
      )}
    </PageLayout>
  )
}

function Actions({ isEmpty }: { readonly isEmpty: boolean }) {
  return (
    <>
      {isEmpty ? null : <DownloadRepository />}
      <UploadFileButton
        operation="repository-import"
        label="Import a bundle"
        description="Imports all branches and tags of the bundle with the checks of a push, or nothing. git bundle create FILE --all writes a bundle."
        accept=".bundle"
        successMessage="The bundle was imported."
        refused={(error) => <RefusedCodeError error={error} />}
      />
      <UploadFileButton
        operation="repository-upload"
        label="Upload a zip"
        description="Commits exactly the files of the zip to the default branch. Links and a .git folder are rejected; at most 100,000 files, 256 MiB each, 2 GiB unpacked. A zip with a secret is rejected."
        accept=".zip"
        asks={{ name: "message", label: "Commit message" }}
        successMessage="The files were committed."
        variant="filled"
        refused={(error) => <RefusedCodeError error={error} />}
      />
    </>
  )
}

function DownloadRepository() {
  const [format, setFormat] = useState("zip")
  return (
    <DownloadButton
      operation="repository-export"
      input={{ format }}
      fileName={`code.${format}`}
      label="Download"
      description={
        format === "zip"
          ? "The files of the default branch, without their history."
          : "All branches and tags with their history: git clone FILE reads it."
      }
    >
      <Select
        label="Format"
        allowDeselect={false}
        data={[
          { value: "zip", label: "Files (zip)" },
          { value: "bundle", label: "Everything (git bundle)" },
        ]}
        value={format}
        onChange={(value) => setFormat(value ?? "zip")}
      />
    </DownloadButton>
  )
}

function RepositoryContent({ isThere, branch, refs }: RepositoryDetails) {
  const mayPushes = useCanRun("code-pushes")
  const mayScrub = useCanRun("repository-scrub")
  const commandFor = useShellCommand()
  if (!isThere) {
    return (
      <EmptyState
        title="No repository yet"
        description="Create an empty one here or with the command. An upload creates one, too."
        command={commandFor("repository create")}
      >
        <ActionButton
          operation="repository-create"
          input={{}}
          label="Create the repository"
          variant="filled"
          description="Creates an empty repository. The first pushed branch becomes the default branch."
          successMessage="The repository was created."
        />
      </EmptyState>
    )
  }
  return (
    <Tabs
      label="Repository"
      tabs={[
        {
          name: "get",
          title: "Repository",
          content: () => <RepositorySummary branch={branch} refs={refs} />,
        },
        ...(mayPushes ? [{ name: "pushes", title: "Pushes", content: () => <Pushes /> }] : []),
        ...(mayScrub
          ? [{ name: "scrub", title: "Remove content", content: () => <ScrubSection /> }]
          : []),
      ]}
    />
  )
}

function RepositorySummary({ branch, refs }: Pick<RepositoryDetails, "branch" | "refs">) {
  const mayPushes = useCanRun("code-pushes")
  const newest = useOperationQuery<PushList>("code-pushes", { limit: 1 }, mayPushes).data?.pushes[0]
  const tip = refs.find(({ kind, name }) => kind === "branch" && name === branch)
  const count = (kind: Ref["kind"]): number => refs.filter((one) => one.kind === kind).length
  return (
    <>
      <DetailList
        items={[
          [
            "State",
            refs.length === 0 ? (
              <StatusBadge key="state" tone="quiet">
                Empty
              </StatusBadge>
            ) : (
              <StatusBadge key="state" tone="good">
                Has code
              </StatusBadge>
            ),
          ],
          ["Default branch", branch],
          ["Newest commit", <Id key="tip" id={tip?.id ?? null} />],
          ["Branches", count("branch")],
          ["Tags", count("tag")],
          ["Newest push", <Time key="push" at={newest?.at ?? null} />],
        ]}
      />
      <Clone />
      <Refs branch={branch} refs={refs} />
    </>
  )
}

/** How to clone the repository with git. */
function Clone() {
  const { company, companyId } = useMe()
  const name = encodeURIComponent(company ?? companyId)
  const { host, protocol, origin } = window.location
  return (
    <Section
      title="Clone"
      description="git asks for a password: use one of your keys with the operation code.pull, and code.push to push."
    >
      <TextView title="With git" text={`git clone ${protocol}//${name}@${host}/git/${name}.git`} />
      <TextView
        title="Run once, so that git uses the key in LEDGER_KEY"
        text={`git config --global credential.${origin}.helper \\\n  '!f() { test "$1" = get && echo "password=$LEDGER_KEY"; }; f'`}
      />
    </Section>
  )
}

function Refs({ branch, refs }: Pick<RepositoryDetails, "branch" | "refs">) {
  return (
    <Section
      title="Branches and tags"
      description="Clone the repository or download its files to see them."
    >
      <DataTable
        label="Branches and tags"
        rows={refs}
        rowKey={({ kind, name }) => `${kind} ${name}`}
        columns={[
          {
            title: "Name",
            cell: ({ name, kind }) =>
              kind === "branch" && name === branch ? `${name} (default)` : name,
            sortBy: ({ name }) => name,
          },
          {
            title: "Kind",
            isHiddenOnNarrow: true,
            cell: ({ kind }) => (kind === "branch" ? "Branch" : "Tag"),
            sortBy: ({ kind }) => kind,
          },
          { title: "Commit", cell: ({ id }) => <Id id={id} /> },
          {
            title: "Default",
            cell: ({ kind, name }) =>
              kind === "branch" && name !== branch ? <MakeDefault branch={name} /> : null,
          },
        ]}
        empty={
          <EmptyState
            title="The repository is empty"
            description="Push with git, upload a zip, or import a bundle."
            command="git push origin main"
          />
        }
      />
    </Section>
  )
}

function MakeDefault({ branch }: { readonly branch: string }) {
  return (
    <ActionButton
      operation="repository-default-branch"
      input={{ branch }}
      label="Make default"
      variant="subtle"
      description={`Clones check out ${branch}, and new branches of boxes start from it. A push cannot delete or force it.`}
      successMessage={`${branch} is the default branch.`}
    />
  )
}

function Pushes() {
  const [{ before }] = useFilters()
  const list = useOperationQuery<PushList>("code-pushes", {
    ...(before === undefined ? {} : { before: Number(before) }),
    limit: PAGE_ROWS,
  })
  return <QueryView query={list}>{(found) => <PushTable {...found} />}</QueryView>
}
