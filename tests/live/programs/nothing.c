/* SPDX-License-Identifier: Apache-2.0 */
/* What /bin/true is: a dynamically linked program that lives for its own start and end alone. */
int main(void)
{
	return 0;
}
