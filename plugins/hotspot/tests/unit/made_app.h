/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in the made-up VM: com.example.Main.run, into which its helper `inner` and a lambda's
 * `apply` were inlined, and which is compiled; both may also be interpreted.
 *
 *	code at	16	64	  96	    128		200
 *		Main.run Main.run Main.run  Main.run	(a trap's, of the null check at 40)
 *				  inner	    inner
 *					    apply
 */
#ifndef HOTSPOT_TESTS_MADE_APP_H
#define HOTSPOT_TESTS_MADE_APP_H

#include "plugins/hotspot/tests/unit/made_vm.h"

#define APP_ID 77

struct made_app {
	uint64_t blob, run, inner, apply;
};

static const char app_map[] =
	"SMAP\nMain.kt\nKotlin\n*S Kotlin\n*F\n+ 1 Main.kt\ncom/example/Main\n"
	"+ 2 Other.kt\ncom/example/OtherKt\n*L\n1#1,100:1\n7#2,3:101\n*E\n";

static const struct made_pair app_run_lines[] = {{0, 10}, {5, 11}, {9, 102}, {60, 20}};
static const struct made_pair app_inner_lines[] = {{0, 300}, {8, 301}};

static const struct made_scope app_scopes[] = {
	{-1, 1, 5}, {-1, 1, 9}, {1, 2, 8}, {2, 4, 0}, {-1, 1, 60},
};

static const struct made_pc app_pcs[] = {{16, 0}, {64, 1}, {96, 2}, {128, 3}, {200, 4}, {220, -1}};

static inline struct made_app made_app(struct made_vm *vm, uint32_t oop_maps)
{
	struct made_class main_class = made_class(vm, "com/example/Main", "Main.kt", app_map);
	struct made_class inner_class = made_class(vm, "com/example/Main$Inner", "Main.kt", NULL);
	struct made_class lambda = made_class(
		vm, "com/example/Main$$Lambda$17+0x00000008000c2000", NULL, NULL);
	struct made_app app;
	uint64_t metadata[4] = {0};
	const struct made_nmethod nmethod = {
		.scopes = app_scopes,
		.n_scopes = EP_LEN(app_scopes),
		.pcs = app_pcs,
		.n_pcs = EP_LEN(app_pcs),
		.metadata = metadata,
		.n_metadata = EP_LEN(metadata),
		.null_off = 40,
		.null_to = 180,
		.oop_maps = oop_maps,
	};

	app.run = made_method(vm, &main_class, "run", "(I)V", 70, app_run_lines,
			      EP_LEN(app_run_lines));
	app.inner = made_method(vm, &inner_class, "inner", "()Ljava/lang/String;", 30,
				app_inner_lines, EP_LEN(app_inner_lines));
	app.apply = made_method(vm, &lambda, "apply", "(I)I", 4, NULL, 0);
	metadata[0] = app.run;
	metadata[1] = app.inner;
	metadata[3] = app.apply;
	app.blob = made_nmethod(vm, APP_ID, &nmethod);
	return app;
}

#endif
